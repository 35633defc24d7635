# What the runners of a Node.js project have in common. It is sourced after kit_start.

# ask EXPRESSION: what package.json, as p, says.
ask() {
  node -e 'const p = JSON.parse(require("fs").readFileSync("package.json", "utf8")); const v = eval(process.argv[1]); if (v !== undefined && v !== null) console.log(String(v))' "$1"
}

# manager: the package manager whose lock file is here.
manager() {
  if [ -f pnpm-lock.yaml ]; then
    echo pnpm
  elif [ -f yarn.lock ]; then
    echo yarn
  elif [ -f bun.lock ] || [ -f bun.lockb ]; then
    echo bun
  else
    echo npm
  fi
}

# ready_in DIR: node, the package.json of DIR and what it depends on are here, or the run ends and says what to do.
ready_in() {
  needs=$(cd "$1" && ask 'Object.keys({...p.dependencies, ...p.devDependencies}).length')
  if [ "$needs" -gt 0 ] && [ ! -d "$1/node_modules" ] && [ ! -d node_modules ] && [ ! -f .pnp.cjs ]; then
    kit_missing dependency node_modules "run $(installs)"
    kit_fail 'node_modules is missing' "the dependencies of package.json are not installed: run $(installs)"
  fi
}

# installs: how the dependencies are installed.
installs() {
  case $PM in
    npm) if [ -f package-lock.json ] || [ -f npm-shrinkwrap.json ]; then echo 'npm ci'; else echo 'npm install'; fi ;;
    *) echo "$PM install --frozen-lockfile" ;;
  esac
}

# node_ready: node, package.json and what it and its workspace depend on are here, or the run ends and says what to do.
node_ready() {
  kit_need node 'install it from https://nodejs.org'
  [ -f package.json ] || kit_fail 'package.json is missing' "there is no package.json in $KIT_ROOT"
  ask 1 >"$KIT_TMP/package" 2>&1 || kit_fail 'package.json is broken' "$(grep -m1 Error "$KIT_TMP/package" || cat "$KIT_TMP/package")"
  PM=$(manager)
  node "$HOMEBOY_EXTENSION_PATH/scripts/members.js" >"$KIT_TMP/members"
  ready_in .
  while IFS='	' read -r dir _; do
    ready_in "$dir"
  done <"$KIT_TMP/members"
}

# asks_for NAME: whether package.json, of the package or of its workspace, asks for a module.
asks_for() {
  case $1 in *[!A-Za-z0-9@/._-]*) return 1 ;; esac
  for at in . "$KIT_ROOT"; do
    [ "$(cd "$at" && ask "[p.dependencies, p.devDependencies, p.peerDependencies, p.optionalDependencies].some((d) => d && Object.hasOwn(d, '$1'))")" != true ] || return 0
  done
  return 1
}

# node_missing FILE: says which tools and modules are missing by the output in FILE. A module counts when package.json asks for it.
node_missing() {
  sed -n \
    -e "s/.*Cannot find module '\([^'./#][^']*\)'.*/\1/p" -e "s/.*Cannot find package '\([^'./#][^']*\)'.*/\1/p" \
    -e 's/.*Failed to resolve import "\([^".\/#][^"]*\)".*/\1/p' "$1" | sed -e 's,^\(@[^/]*/[^/]*\).*,\1,' -e t -e 's,/.*,,' | sort -u >"$KIT_TMP/absent"
  while IFS= read -r module; do
    if asks_for "$module"; then kit_missing dependency "$module" "run $(cd "$KIT_ROOT" && installs)"; fi
  done <"$KIT_TMP/absent"
  tool=$(kit_lines tool "$1" | sed -n -e 's/.*: \([^ :]*\): \(command \)\{0,1\}not found$/\1/p' | sed -n 1p)
  [ -z "$tool" ] || kit_missing tool "$tool" "run $(cd "$KIT_ROOT" && installs), or install it"
}

# with_script NAME: the members of the workspace that have a script of this name, one in a line.
with_script() {
  while IFS='	' read -r dir _; do
    [ -z "$(cd "$dir" && ask "p.scripts && p.scripts.$1")" ] || printf '%s\n' "$dir"
  done <"$KIT_TMP/members"
}

# run_script NAME ARGUMENT...: a script of package.json. npm gives arguments on only after --; the others as they are.
run_script() {
  kit_need "$PM" "the lock file here is for $PM: install it, for example with corepack enable or npm install -g $PM"
  run_name=$1
  shift
  case $PM in
    npm) set -- npm run --silent "$run_name" ${1+-- "$@"} ;;
    *) set -- "$PM" run "$run_name" "$@" ;;
  esac
  kit_watch "$KIT_TMP/output" "$@"
}

# bin NAME: the path of a tool that the package or its workspace has installed.
bin() {
  for at in . "$KIT_ROOT"; do
    if [ -x "$at/node_modules/.bin/$1" ]; then
      (cd "$at/node_modules/.bin" && printf '%s/%s' "$(pwd -P)" "$1")
      return
    fi
  done
}

# alone SCRIPT TOOL: whether the text of a script is one call of TOOL, so that more arguments reach it.
alone() {
  case $1 in
    *'&'* | *'|'* | *';'* | *'>'* | *'$('* | *'`'*) return 1 ;;
    "$2" | "$2 "* | "npx $2" | "npx $2 "*) return 0 ;;
  esac
  return 1
}
