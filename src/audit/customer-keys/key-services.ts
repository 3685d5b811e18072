// The key services by the provider of a configuration, and the test that a key signs as a checkpoint needs it.
import { createHash, createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto'
import { assertNever } from '../../kernel/assert.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { cloud1Kms } from './cloud1-kms.ts'
import { cloud2Kms } from './cloud2-kms.ts'
import { cloud3KeyVault } from './cloud3-key-vault.ts'
import type { CustomerKey, KeyFailure, KeyService } from './customer-key.ts'

/** The providers of keys that the customer manages. */
export const customerProviders = ['CUSTOMER_CLOUD1_KMS', 'CUSTOMER_CLOUD2_KMS', 'CUSTOMER_CLOUD3_KEY_VAULT'] as const
/** See `customerProviders`. */
export type CustomerProvider = (typeof customerProviders)[number]

/** The key service of a provider. */
export function keyServiceOf(provider: CustomerProvider): KeyService {
  switch (provider) {
    case 'CUSTOMER_CLOUD1_KMS':
      return cloud1Kms
    case 'CUSTOMER_CLOUD2_KMS':
      return cloud2Kms
    case 'CUSTOMER_CLOUD3_KEY_VAULT':
      return cloud3KeyVault
    default:
      return assertNever(provider)
  }
}

/** A public key that was checked: a P-256 key. */
interface PinnedKey {
  /** SubjectPublicKeyInfo in DER. */
  readonly spki: Uint8Array
}

/**
 * Fetches the public key and has a test text signed. Resolves with the public key if the signature is valid, so that the key can
 * sign checkpoints. Only P-256 is supported, because verifiers of signed notes support no other ECDSA curve.
 */
export async function testKey(key: CustomerKey): Promise<Result<PinnedKey, KeyFailure>> {
  const fetched = await key.publicKey()
  if (!fetched.ok) return fetched
  const call = 'public key'
  const publicKey = publicKeyOf(fetched.value)
  if (publicKey === null) return err({ call, message: 'it is malformed' })
  const { asymmetricKeyType, asymmetricKeyDetails } = publicKey
  if (asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    const found = asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType ?? 'unknown'
    return err({ call, message: `it is of the type ${found}; expected an elliptic curve key on P-256` })
  }
  // Verifiers derive the id of the key from these bytes, so they must be the one encoding of the key.
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const text = Buffer.from(`verdigraph audit signing test\n${randomBytes(16).toString('hex')}\n`)
  const signed = await signVerified(key, { spki }, text)
  return signed.ok ? ok({ spki }) : signed
}

/** Has a text signed and verifies the signature with the pinned public key. */
export async function signVerified(
  key: CustomerKey,
  { spki }: PinnedKey,
  text: Uint8Array,
): Promise<Result<Uint8Array, KeyFailure>> {
  const signed = await key.sign(text)
  if (!signed.ok || isSignature(signed.value, spki, text)) return signed
  const fetched = await key.publicKey()
  const isOther = fetched.ok && publicKeyHash(fetched.value) !== publicKeyHash(spki)
  return err({
    call: 'verification',
    message: isOther
      ? 'the key service has another public key than the configuration; update the configuration with the new key'
      : 'the returned signature is not valid for the public key',
  })
}

function isSignature(signature: Uint8Array, spki: Uint8Array, text: Uint8Array): boolean {
  const publicKey = publicKeyOf(spki)
  try {
    return publicKey !== null && verify('sha256', text, publicKey, signature)
  } catch {
    // Malformed DER.
    return false
  }
}

function publicKeyOf(spki: Uint8Array): KeyObject | null {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  } catch {
    return null
  }
}

function publicKeyHash(spki: Uint8Array): string {
  const key = publicKeyOf(spki)
  return createHash('sha256')
    .update(key === null ? spki : key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
}
