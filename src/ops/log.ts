// The log of the process: one line of JSON per entry on the error stream (the output stream is for command output).
// Each line is written at once, with secrets masked.
import { pino } from 'pino'
import { escapeInvisible } from '../kernel/text/invisible-characters.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import { maskSecrets } from './secret-mask.ts'

/** One entry. */
export interface LogEntry {
  readonly level: 'info' | 'error'
  readonly message: string
  readonly [field: string]: unknown
}

/** Options of the log. */
export interface LogOptions {
  readonly clock: Clock
  readonly level: 'info' | 'error' | 'silent'
  /** Texts that are masked wherever they occur. */
  readonly secrets: readonly string[]
  /** Writes one line; `line` includes the line feed. */
  readonly write: (line: string) => void
}

/** Writes one entry. */
export type Log = (entry: LogEntry) => void

/** Creates the log. */
export function openLog({ clock, level, secrets, write }: LogOptions): Log {
  const logger = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${timestamp(clock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    // JSON permits DEL, C1 and invisible characters unescaped. A caller may have sent them, and terminals interpret them.
    // A destination without worker thread and buffer, so that the last line before a crash is written.
    { write: (line: string) => write(escapeInvisible(maskSecrets(line, secrets))) },
  )
  return ({ level: at, message, ...fields }) => logger[at](fields, message)
}
