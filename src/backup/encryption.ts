// Encryption of backups for the holders of private keys, in the age format (https://age-encryption.org/v1) by the library of its
// author. Streams only: the memory does not depend on the length of a backup.
import { readFileSync } from 'node:fs'
import { OperationalError } from '../kernel/errors.ts'
import { streamOf } from '../transfer/files/byte-stream.ts'

/** The first line of every encrypted file. */
const HEADER = 'age-encryption.org/v1\n'
/** https://github.com/C2SP/C2SP/blob/main/age.md#ascii-armor */
const ARMOR = '-----BEGIN AGE ENCRYPTED FILE-----'
const IDENTITY = /^AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]+$/

/** Throws OperationalError if one of the recipients is not the public key of an age identity, such as `age1…`. */
export async function checkRecipients(recipients: readonly string[]): Promise<void> {
  await encrypterFor(recipients)
}

/** Encrypts a stream so that the holder of any of the recipients' identities can read it. Rejects with OperationalError. */
export async function encryptStream(
  plain: ReadableStream<Uint8Array>,
  recipients: readonly string[],
): Promise<ReadableStream<Uint8Array>> {
  return (await encrypterFor(recipients)).encrypt(plain)
}

/**
 * Decrypts a stream that `encryptStream`, or the program `age`, has encrypted; another stream is returned as it is.
 * @param identities Private keys (`AGE-SECRET-KEY-1…`); null: the caller has none.
 * @param source For messages.
 * @throws OperationalError if no identity fits. The stream fails with one if the content is damaged or truncated.
 */
export async function decryptStream(
  stream: ReadableStream<Uint8Array>,
  identities: readonly string[] | null,
  source: string,
): Promise<ReadableStream<Uint8Array>> {
  const { head, whole } = await peek(stream)
  if (head.startsWith(ARMOR)) {
    await whole.cancel()
    throw new OperationalError(`${source} is encrypted and armored as text: remove the armor, for example with \`age\``)
  }
  if (!head.startsWith(HEADER)) return whole
  if (identities === null) {
    await whole.cancel()
    throw new OperationalError(`${source} is encrypted: name a file with the age identity (\`--identity FILE\`)`)
  }
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  for (const identity of identities) decrypter.addIdentity(identity)
  let plain: ReadableStream<Uint8Array>
  try {
    plain = await decrypter.decrypt(whole)
  } catch (failure) {
    if (failure instanceof OperationalError) throw failure
    const { message } = failure as Error
    throw new OperationalError(
      message.includes('no identity matched')
        ? `the identity does not fit: ${source} is encrypted for others`
        : `${source} is damaged: its encryption header cannot be read (${message})`,
    )
  }
  return streamOf(decryptedChunks(plain, source))
}

/** True if the first bytes of a file are those of an encrypted one. */
export function isEncryptedHead(head: Uint8Array): boolean {
  return new TextDecoder('latin1').decode(head.subarray(0, HEADER.length)) === HEADER
}

/** Reads the private keys of a file as `age-keygen` writes it. Throws OperationalError, which never quotes the file. */
export async function readIdentities(path: string): Promise<readonly string[]> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (failure) {
    throw new OperationalError(`the identity file ${path} cannot be read: ${(failure as Error).message}`)
  }
  const lines = text.split('\n').map((line) => line.trim())
  const found = lines.flatMap((line, at) => (line === '' || line.startsWith('#') ? [] : [{ line, number: at + 1 }]))
  if (found.length === 0) throw new OperationalError(`the identity file ${path} contains no identity`)
  const { Decrypter } = await import('age-encryption')
  for (const { line, number } of found) {
    try {
      if (!IDENTITY.test(line)) throw new Error()
      new Decrypter().addIdentity(line)
    } catch {
      throw new OperationalError(
        `line ${number} of the identity file ${path} is not an age identity: expected AGE-SECRET-KEY-1…, as \`age-keygen\` writes it`,
      )
    }
  }
  return found.map(({ line }) => line)
}

/** Makes an age identity. Returns the private key and its public key. */
export async function newIdentity(): Promise<{ readonly identity: string; readonly recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await import('age-encryption')
  const identity = await generateX25519Identity()
  return { identity, recipient: await identityToRecipient(identity) }
}

async function encrypterFor(recipients: readonly string[]) {
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient)
    } catch {
      const shown = recipient.startsWith('AGE-SECRET-KEY') ? 'a private key' : `\`${recipient.slice(0, 80)}\``
      throw new OperationalError(`${shown} is not a recipient: expected the public key of an age identity, age1…`)
    }
  }
  return encrypter
}

async function* decryptedChunks(plain: ReadableStream<Uint8Array>, source: string): AsyncIterable<Uint8Array> {
  try {
    for await (const chunk of plain) yield chunk
  } catch (failure) {
    if (failure instanceof OperationalError || (failure as { syscall?: string }).syscall !== undefined) throw failure
    throw new OperationalError(
      `${source} is damaged or truncated: it cannot be decrypted (${(failure as Error).message})`,
    )
  }
}

/** The first characters of a stream, and the whole stream. */
async function peek(stream: ReadableStream<Uint8Array>): Promise<{ head: string; whole: ReadableStream<Uint8Array> }> {
  const reader = stream.getReader()
  const first: Uint8Array[] = []
  let length = 0
  while (length < ARMOR.length) {
    const { done, value } = await reader.read()
    if (done) break
    first.push(value)
    length += value.length
  }
  const head = new TextDecoder('latin1').decode(Buffer.concat(first).subarray(0, ARMOR.length))
  const whole = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = first.length > 0 ? { done: false, value: first.shift() } : await reader.read()
        if (done || value === undefined) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return { head, whole }
}
