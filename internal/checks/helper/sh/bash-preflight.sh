# Bash: `homeboy_require_bash_version MAJOR` ends the script with status 2, infrastructure, where the shell is not bash or
# is older.
# deed:include preflight.sh
