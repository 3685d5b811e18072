// How far a long command is: one line that is written over again, on a terminal; nothing where nobody watches.
const REFRESH_MS = 100
const BAR = 24

export interface ProgressLine {
  /** `total` null: nobody knows how much there is. */
  show(done: number, total: number | null, what: string): void
  /** Wipes the line. */
  end(): void
}

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
