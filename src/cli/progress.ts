// A progress line of long commands: rewritten in place on a terminal, absent otherwise.
const REFRESH_MS = 100
const BAR = 24

/** The progress line of a command. */
export interface ProgressLine {
  /** Updates the line. `total`: null if unknown. */
  show(done: number, total: number | null, what: string): void
  /** Clears the line. */
  end(): void
}

/** Creates a progress line on the error stream. */
export function progressLine(): ProgressLine {
  const { stderr } = process
  let shownAt = 0
  let dirty = false
  return {
    show(done, total, what) {
      if (!stderr.isTTY) return
      const now = performance.now()
      if (now - shownAt < REFRESH_MS) return
      shownAt = now
      dirty = true
      stderr.write(`\r\x1b[2K${lineOf(done, total, what).slice(0, (stderr.columns ?? 80) - 1)}`)
    },
    end() {
      if (dirty) stderr.write('\r\x1b[2K')
      dirty = false
    },
  }
}

function lineOf(done: number, total: number | null, what: string): string {
  if (total === null || total === 0) return what
  const share = Math.min(1, done / total)
  const full = Math.round(share * BAR)
  return `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${Math.floor(share * 100)
    .toString()
    .padStart(3)} %  ${what}`
}
