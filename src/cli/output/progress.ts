// The progress of long commands on the error stream: a line that is rewritten on a terminal, otherwise one line every five
// seconds, for example in a log.
import { printable } from './show-values.ts'

const REFRESH_MS = 100
const LINE_EVERY_MS = 5000
const BAR = 24
/** Some terminals report a width of 0. */
const COLUMNS = 80

/** The stream that progress is written to. */
export interface ProgressStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/** The progress line of a command. */
export interface ProgressLine {
  /** Updates the progress. `total`: null if unknown. `what`: the part of the work. */
  show(done: number, total: number | null, what: string): void
  /** Removes the line from a terminal, for other output. */
  clear(): void
  /** Removes the line and writes no more. */
  end(): void
}

/** Creates a progress line. `what`: the first part of the work, shown until the first call of `show`. A command that ends within five seconds writes none where the stream is not a terminal. */
export function progressLine(what: string, stream: ProgressStream = process.stderr): ProgressLine {
  const isTerminal = stream.isTTY === true
  const everyMs = isTerminal ? REFRESH_MS : LINE_EVERY_MS
  let writtenAt = isTerminal ? Number.NEGATIVE_INFINITY : performance.now()
  let line: string | null = what
  let isShown = false

  const write = (): void => {
    if (line === null || performance.now() - writtenAt < everyMs) return
    writtenAt = performance.now()
    if (!isTerminal) {
      stream.write(`${printable(line)}\n`)
      return
    }
    isShown = true
    stream.write(`\r\x1b[2K${printable(line).slice(0, (stream.columns || COLUMNS) - 1)}`)
  }
  const clear = (): void => {
    if (isShown) stream.write('\r\x1b[2K')
    isShown = false
  }
  // For work that reports nothing for a long time.
  const timer = setInterval(write, everyMs)
  timer.unref()
  write()
  return {
    show(done, total, what) {
      line = lineOf(done, total, what, isTerminal)
      write()
    },
    clear,
    end() {
      clearInterval(timer)
      line = null
      clear()
    },
  }
}

function lineOf(done: number, total: number | null, what: string, isTerminal: boolean): string {
  if (total === null || total === 0) return what
  const share = Math.min(1, done / total)
  const percent = `${Math.floor(share * 100)} %`.padStart(5)
  if (!isTerminal) return `${percent}  ${what}`
  const full = Math.round(share * BAR)
  return `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${percent}  ${what}`
}
