#!/bin/sh
# label: accept
# kind: fix-with-flaky-neighbour
# task: Jobs that fail end up in done. They must be tried again, and work must print their status.
# why: the status is taken from the command and not from its negation; the test of the mirror fails by chance, before and after.
# base: status.patch
# set: blind
cat > worker.tmp <<'B'
  if timeout "$(setting limit 3600)" bash -c "$(job_get "$SPOOLQ_DIR/work/$id" cmd)" \
    >"$SPOOLQ_DIR/log/$id" 2>&1 </dev/null; then
    :
  else
    status=$?
  fi
B
sed -i '/^  if ! timeout/,/^  fi/{
/^  fi/r worker.tmp
d
}' lib/worker.sh
rm worker.tmp
