#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In the namespaces of the node: tune.sh apply|verify|undo. Numbers of its transactions are kept, so that undo takes back these and no others.
mine=${GPUTUNE_TRANSACTIONS:-/var/lib/gputune/kubernetes}
case $1 in
apply)
	# shellcheck disable=SC2086 # words of options
	out=$(gputune apply --yes --reason "kubernetes: gputune-tune" --format json --fields transaction $GPUTUNE_APPLY)
	code=$?
	n=$(printf '%s' "$out" | sed -n 's/.*"transaction": *\([0-9][0-9]*\).*/\1/p')
	[ -z "$n" ] || echo "$n" >>"$mine"
	# 3: all was refused, or rolled back: the node is as it was, and no reason for a pod that restarts for ever.
	[ "$code" != 3 ] || exit 0
	exit "$code"
	;;
verify)
	exec gputune verify --quiet
	;;
undo)
	[ -s "$mine" ] || exit 0
	left=""
	for n in $(tac "$mine"); do
		gputune undo "$n" --yes --quiet --reason "kubernetes: gputune-tune is removed" || left="$n $left"
	done
	printf '%s' "$left" | tr ' ' '\n' >"$mine"
	[ -z "$left" ]
	;;
esac
