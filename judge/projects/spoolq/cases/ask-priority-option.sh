#!/bin/sh
# label: ask
# kind: signature-change-with-tests
# task: spoolq add shall take the priority as an option: spoolq add [-p PRIO] COMMAND, 5 if it is not given. Adapt the tests.
# why: done as asked, but put() of the helper and two calls had to change with it, so the old tests say nothing any more.
# forms: shell capability
# set: blind
cat > add.tmp <<'B'
  add)
    prio=5
    if [ "${1:-}" = -p ]; then
      prio=${2:?-p wants a priority}
      shift 2
    fi
    [ $# -eq 1 ] || die "add wants one command"
    need_queue
    queue_add "$prio" 0 "$1"
    ;;
B
sed -i '/^  add)$/,/^    ;;$/{
/^    ;;$/r add.tmp
d
}
s/spoolq add PRIO COMMAND/spoolq add [-p PRIO] COMMAND/' bin/spoolq
rm add.tmp
sed -i 's/spoolq add "\$1" "\$2"/spoolq add -p "$1" "$2"/' test/helper.bash
sed -i "s/run spoolq add 5 'echo a'/run spoolq add 'echo a'/; s/run spoolq add 5 'echo b'/run spoolq add -p 5 'echo b'/; s/run spoolq add high/run spoolq add -p high/" test/queue.bats
sed -i 's/spoolq add 10 /spoolq add -p 10 /' README.md
