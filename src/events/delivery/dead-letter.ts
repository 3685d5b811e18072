// The content of a dead letter: the event, and why its provider refused it. The outbox keeps its bytes (store/outbox/dead-letters.ts).

/** An event that its provider refused for good, as a dead letter stores it. */
export interface DeadLetterContent {
  readonly sinkId: string
  /** CloudEvents attributes in the order of the envelope. */
  readonly attributes: Readonly<Record<string, string>>
  /** JSON text of `data`. */
  readonly data: string
  readonly orderingKey: string
  /** The reason of the receiver: one line without secrets. */
  readonly error: string
  /** When it became a dead letter, in milliseconds since the epoch. */
  readonly timeMs: number
  /** How often it was sent and refused. */
  readonly attempts: number
}

/** Encodes a dead letter. */
export function encodeDeadLetter(content: DeadLetterContent): Uint8Array {
  return Buffer.from(JSON.stringify(content))
}

/** Reads what `encodeDeadLetter` wrote. */
export function readDeadLetter(bytes: Uint8Array): DeadLetterContent {
  return JSON.parse(new TextDecoder().decode(bytes)) as DeadLetterContent
}
