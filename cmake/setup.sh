# To be sourced. mezzo_setup installs those packages of packages.txt that are missing (apt, with sudo when not root).
# Where nothing is missing, or there is no apt, nothing is touched.

mezzo_setup() {
  local list missing=() package as_root=()
  list=$(dirname "${BASH_SOURCE[0]}")/packages.txt
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "setup: no apt here. Needed, under the names of your system: $(_mezzo_packages "$list" | tr '\n' ' ')"
    return 0
  fi
  while read -r package; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done < <(_mezzo_packages "$list")
  if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: installing ${missing[*]}"
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
        >/dev/null || { echo "setup: could not install: ${missing[*]}" >&2; return 1; }
  fi
}

_mezzo_packages() { sed -E 's/#.*//; s/[[:space:]].*//; /^$/d' "$1"; }
