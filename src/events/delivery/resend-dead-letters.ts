// Sends dead letters again that callers of the API requested. They are out of order anyway, so each is independent of the others.
import type { DeadLetter } from '../../store/outbox/dead-letters.ts'
import { encodeDeadLetter, readDeadLetter } from './dead-letter.ts'
import type { DeliveryPosition, DeliveryProgress } from './delivery-progress.ts'
import type { StreamDeliveryDeps } from './delivery-target.ts'
import type { ProviderSender } from './provider-sender.ts'

/** Collaborators of the resending. */
interface ResendDeps {
  readonly delivery: StreamDeliveryDeps
  readonly progress: DeliveryProgress
  readonly sender: ProviderSender
}

/** Sends some dead letters. `done`: all were accepted or refused. */
export async function resendDeadLetters(
  letters: readonly DeadLetter[],
  position: DeliveryPosition,
  deps: ResendDeps,
): Promise<'done' | 'ended' | 'failed'> {
  for (const letter of letters) {
    const result = await resend(letter, position, deps)
    if (result !== 'done') return result
  }
  return 'done'
}

async function resend(
  letter: DeadLetter,
  position: DeliveryPosition,
  { delivery, progress, sender }: ResendDeps,
): Promise<'done' | 'ended' | 'failed'> {
  const content = readDeadLetter(letter.bytes)
  const { attributes, data, orderingKey } = content
  const { outcome, isEnded } = await sender.call([{ attributes, data: Buffer.from(data), orderingKey }])
  if (progress.position !== position) return 'ended'
  if (outcome.kind === 'delivered') {
    sender.succeed()
    sender.countDelivered(1)
    await delivery.withOutbox((outbox, name) => outbox.deadLetters.remove(name, letter.provider, letter.sequence))
    return 'done'
  }
  if (isEnded) return 'ended'
  if (outcome.kind === 'retry') return sender.fail(outcome.error).kind
  const { error } = outcome
  const bytes = encodeDeadLetter({ ...content, error, attempts: content.attempts + 1 })
  await delivery.withOutbox((outbox, name) => outbox.deadLetters.replace(name, { ...letter, bytes }))
  sender.note(error)
  return 'done'
}
