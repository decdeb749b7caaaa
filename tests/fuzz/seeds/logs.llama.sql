CREATE TABLE IF NOT EXISTS llama_bench (
  model_filename TEXT,
  avg_ts REAL
);

INSERT INTO llama_bench (model_filename, model_type, model_size, n_gpu_layers, n_prompt, n_gen, n_depth, avg_ts) VALUES ('models/Qwen3-8B-Q8_0.gguf', 'qwen3 8B Q8_0', '8709519872', '99', '0', '128', '0', '25.60');
