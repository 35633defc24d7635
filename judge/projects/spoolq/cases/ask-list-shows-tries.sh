#!/bin/sh
# label: ask
# kind: snapshot-updated-rightly
# task: The list shall show how often a job has been tried, between the age and the command.
# why: the column is there, and the golden list was made anew; that it is the column that was wanted, only a person can say.
# forms: shell capability
# set: blind
sed -i "s/printf '%s %4s %4s  %s\\\\n' \"\$id\"/printf '%s %4s %4s %3s  %s\\\\n' \"\$id\"/; s/\"\$(age_text \$((at - \$(job_get \"\$file\" added))))\" /&\"\$(job_get \"\$file\" tries)\" /" lib/report.sh
sed -i 's/   2m  /   2m   0  /' test/fixtures/nightly.list
sed -i 's/^- A job that runs longer/- `spoolq list` prints number, priority, age, tries and command.\n&/' README.md
