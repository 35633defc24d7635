#!/bin/sh
# The command that the manifest names: it starts what `go build -o bin/@NAME@ .` made.
dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
if [ ! -x "$dir/bin/@NAME@" ]; then
	echo "@NAME@ is not built: run go build -o bin/@NAME@ . in $dir" >&2
	exit 1
fi
exec "$dir/bin/@NAME@" "$@"
