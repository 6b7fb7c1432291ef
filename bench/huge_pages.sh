# shellcheck shell=bash
# Huge pages for the server's memory, where the kernel can be asked for them (as root): else every client
# that has just connected meets each page of it anew, for as long as a run lasts. Sourced by run.sh.
#   HUGE_PAGES=off  goes without

HUGE_PAGES_SETTING=/proc/sys/vm/nr_hugepages
HUGE_PAGES_BEFORE=

# huge_pages_take MEGABYTES: sets HUGE_PAGES to on or off.
huge_pages_take() {
  local size wanted
  size=$(awk '/^Hugepagesize:/ { print int($2 / 1024) }' /proc/meminfo)
  if [ "${HUGE_PAGES:-on}" = off ] || [ ! -w $HUGE_PAGES_SETTING ] || [ "${size:-0}" -eq 0 ]; then
    HUGE_PAGES=off
    return 0
  fi
  wanted=$(($1 / size))
  HUGE_PAGES_BEFORE=$(<$HUGE_PAGES_SETTING)
  echo $((HUGE_PAGES_BEFORE + wanted)) >$HUGE_PAGES_SETTING
  HUGE_PAGES=on
  [ "$(awk '/^HugePages_Free:/ { print $2 }' /proc/meminfo)" -ge "$wanted" ] || huge_pages_give_back
}

huge_pages_give_back() {
  HUGE_PAGES=off
  [ -z "$HUGE_PAGES_BEFORE" ] || echo "$HUGE_PAGES_BEFORE" >$HUGE_PAGES_SETTING
}
