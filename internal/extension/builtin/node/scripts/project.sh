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

# node_ready: node, package.json and what it depends on are here, or the run ends and says what to do.
node_ready() {
  kit_need node 'install it from https://nodejs.org'
  [ -f package.json ] || kit_fail 'package.json is missing' "there is no package.json in $KIT_ROOT"
  ask 1 >"$KIT_TMP/package" 2>&1 || kit_fail 'package.json is broken' "$(grep -m1 Error "$KIT_TMP/package" || cat "$KIT_TMP/package")"
  PM=$(manager)
  needs=$(ask 'Object.keys({...p.dependencies, ...p.devDependencies}).length')
  if [ "$needs" -gt 0 ] && [ ! -d node_modules ] && [ ! -f .pnp.cjs ]; then
    case $PM in
      npm) install='npm ci' ;;
      *) install="$PM install --frozen-lockfile" ;;
    esac
    [ "$PM" != npm ] || [ -f package-lock.json ] || [ -f npm-shrinkwrap.json ] || install='npm install'
    kit_fail 'node_modules is missing' "the dependencies of package.json are not installed: run $install"
  fi
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

# bin NAME: the path of a tool that the project has installed.
bin() {
  [ ! -x "node_modules/.bin/$1" ] || printf '%s' "node_modules/.bin/$1"
}

# alone SCRIPT TOOL: whether the text of a script is one call of TOOL, so that more arguments reach it.
alone() {
  case $1 in
    *'&'* | *'|'* | *';'* | *'>'* | *'$('* | *'`'*) return 1 ;;
    "$2" | "$2 "* | "npx $2" | "npx $2 "*) return 0 ;;
  esac
  return 1
}
