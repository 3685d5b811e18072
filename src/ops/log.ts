// The log: one line of JSON for each entry on the error stream (the output stream belongs to the commands), written at
// once, and without what must not be read there.
import { pino } from 'pino'
import { type Clock, timestamp } from '../kernel/clock.ts'
import { maskSecrets } from './secret-mask.ts'

export interface LogEntry {
  readonly level: 'info' | 'error'
  readonly message: string
  readonly [field: string]: unknown
}

export interface LogOptions {
  readonly clock: Clock
  readonly level: 'info' | 'error' | 'silent'
  /** Texts that are secret wherever they stand. */
  readonly secrets: readonly string[]
  /** One whole line with its end. */
  readonly write: (line: string) => void
}

export type Log = (entry: LogEntry) => void

export function openLog({ clock, level, secrets, write }: LogOptions): Log {
  const logger = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${timestamp(clock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    // Neither a thread nor a buffer: the last line before a crash is the one that is wanted.
    { write: (line: string) => write(maskSecrets(line, secrets).replace(TERMINAL_CONTROLS, escaped)) },
  )
  return ({ level: at, message, ...fields }) => logger[at](fields, message)
}

/** Characters of a caller that JSON lets through and a terminal obeys. */
const TERMINAL_CONTROLS = /[\x7f-\x9f]/g

function escaped(character: string): string {
  return `\\u00${character.charCodeAt(0).toString(16)}`
}
