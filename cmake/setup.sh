# To be sourced. `mezzo_setup tests` or `mezzo_setup example` installs what packages.txt lists for it and is missing; without
# a word, all. It uses apt, and sudo when not root. Where nothing is missing, or there is no apt, nothing is touched.

mezzo_setup() {
  local list missing=() package as_root=()
  list=$(awk -v for_whom="${1:-}" '!/^#/ && (for_whom == "" || $2 == for_whom || $2 == "both") { print $1 }' \
    "$(dirname "${BASH_SOURCE[0]}")/packages.txt")
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "setup: no apt here. Needed, under the names of your system: ${list//$'\n'/ }"
    return 0
  fi
  while read -r package; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done <<<"$list"
  if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: installing ${missing[*]}"
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
        >/dev/null || { echo "setup: could not install: ${missing[*]}" >&2; return 1; }
  fi
}
