// Which identifier a request answers to: the caller's own when it is short and printable, else a fresh one (ruling D8).

/** Long enough for any identifier in use; short enough for a log line. */
const LENGTH_MAX = 128
const VISIBLE = /^[\x21-\x7e]+$/

const process = crypto.randomUUID().replaceAll('-', '').slice(0, 16)
let counter = 0

export function requestIdOf(given: string | null): string {
  if (given !== null && given.length <= LENGTH_MAX && VISIBLE.test(given)) return given
  counter += 1
  return `${process}-${counter.toString(36)}`
}
