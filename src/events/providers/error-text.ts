// Error texts for `last_error`: one line with the causes, limited in length, without secrets.
import { escapeInvisible } from '../../kernel/text/invisible-characters.ts'

const TEXT_MAX = 500
/** General texts, which are left out if a cause is more specific. */
const GENERAL =
  /^(?:Cannot connect to any broker|Producing messages failed|\w+ failed \d+ times|Connection to \S+ failed|Received response with error while executing API \S+)\.?$/

/** The text of a fault and its causes, from the most general one. `secrets` are replaced by `***`. */
export function errorText(fault: unknown, secrets: readonly (string | null | undefined)[] = []): string {
  const texts: string[] = []
  collect(fault, texts, 0)
  const specific = texts.filter((text) => !GENERAL.test(text))
  const joined = [...new Set(specific.length > 0 ? specific : texts)].map((text) => text.replace(/\.$/, '')).join(': ')
  return oneLine(withoutSecrets(joined === '' ? 'unknown error' : joined, secrets))
}

/** Replaces each secret, also in the encodings of URLs and base64. */
export function withoutSecrets(text: string, secrets: readonly (string | null | undefined)[]): string {
  let clean = text
  for (const secret of secrets) {
    if (secret == null || secret === '') continue
    for (const form of new Set([secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')])) {
      clean = clean.replaceAll(form, '***')
    }
  }
  return clean
}

/** Makes one printable line of limited length. */
export function oneLine(text: string): string {
  const line = escapeInvisible(text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim())
  return line.length > TEXT_MAX ? `${line.slice(0, TEXT_MAX - 1)}…` : line
}

function collect(fault: unknown, texts: string[], depth: number): void {
  // The causes of a client library can refer to each other.
  if (depth > 8 || texts.length > 20 || fault == null) return
  if (!(fault instanceof Error)) {
    texts.push(typeof fault === 'string' ? fault : descriptionOf(fault))
    return
  }
  const { message } = fault
  if (message !== '') texts.push(message)
  else if ('code' in fault && typeof fault.code === 'string') texts.push(fault.code)
  if (fault.cause !== undefined) collect(fault.cause, texts, depth + 1)
  if (fault instanceof AggregateError) for (const one of fault.errors) collect(one, texts, depth + 1)
}

/** AMQP errors are objects with a condition and a description. */
function descriptionOf(fault: object | number | boolean | bigint | symbol | (() => void)): string {
  if (typeof fault !== 'object') return String(fault)
  const { condition, description, message } = fault as Record<string, unknown>
  return [condition, description, message].filter((part) => typeof part === 'string' && part !== '').join(' ')
}
