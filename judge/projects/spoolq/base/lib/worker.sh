# Running of jobs.

work_one() {
  local id status
  id=$(queue_take) || return 1
  status=0
  timeout "$(setting limit 3600)" bash -c "$(job_get "$SPOOLQ_DIR/work/$id" cmd)" \
    >"$SPOOLQ_DIR/log/$id" 2>&1 </dev/null || status=$?
  if [ "$status" -eq 0 ]; then
    queue_done "$id"
    echo "$id ok"
  else
    queue_fail "$id"
    echo "$id failed ($status)"
  fi
}

work_all() {
  while work_one; do :; done
}
