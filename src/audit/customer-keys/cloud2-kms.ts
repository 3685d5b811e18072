// The client of CLOUD2's key service: getPublicKey and asymmetricSign of Google Cloud KMS, with tokens that a service account signs
// itself. https://cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys.cryptoKeyVersions
import { createHash, createPublicKey } from 'node:crypto'
import { err, ok, type Result } from '../../kernel/result.ts'
import {
  parseServiceAccount,
  type ServiceAccountKey,
  ServiceAccountTokens,
  serviceHost,
} from '../../upstream/service-account.ts'
import { decodeBase64 } from '../log/checkpoint.ts'
import { crc32c } from './crc32c.ts'
import type { CustomerKey, KeyClientDeps, KeyFailure, KeyIdentity, KeyService } from './customer-key.ts'
import { endpointErrors, endpointOf, missingParams, unknownParams } from './identity-rules.ts'
import { callService, deadlineOf, jsonOf, type ServiceRequest, textMember } from './service-call.ts'

const PARAMS = ['credentials_json', 'endpoint'] as const
const SERVICE = 'cloudkms'
/** A version, because each has a public key of its own. */
const KEY_VERSION =
  /^projects\/[a-z0-9.:-]+\/locations\/[a-z0-9-]+\/keyRings\/[A-Za-z0-9_-]+\/cryptoKeys\/[A-Za-z0-9_-]+\/cryptoKeyVersions\/\d+$/
const ALGORITHM = 'EC_SIGN_P256_SHA256'

/** The key service of `CUSTOMER_CLOUD2_KMS`. */
export const cloud2Kms: KeyService = {
  params: PARAMS,
  errors(identity, { upstream }) {
    const { resource, params } = identity
    const credentials = params.credentials_json ?? ''
    const account = credentials === '' ? null : parseServiceAccount(credentials)
    return [
      ...unknownParams(identity, PARAMS),
      ...missingParams(identity, ['credentials_json']),
      ...(KEY_VERSION.test(resource)
        ? []
        : [
            'key_resource: expected `projects/P/locations/L/keyRings/R/cryptoKeys/K/cryptoKeyVersions/V`, with a version of the key',
          ]),
      ...(account?.ok === false ? [`auth_params.${account.error}`] : []),
      ...(account?.ok === true ? hostErrors(account.value, upstream) : []),
      ...endpointErrors(identity, 'endpoint', upstream),
    ]
  },
  open: (identity, deps) => new Cloud2Key(identity, deps),
}

function hostErrors(account: ServiceAccountKey, upstream: KeyClientDeps['upstream']): string[] {
  const error = upstream.urlError(`https://${serviceHost(account, SERVICE)}`)
  return error === null ? [] : [`auth_params.credentials_json: universe_domain: ${error}`]
}

class Cloud2Key implements CustomerKey {
  private readonly deps: KeyClientDeps
  private readonly resource: string
  private readonly account: Result<ServiceAccountKey, string>
  private readonly tokens: ServiceAccountTokens | null
  private readonly base: string

  constructor(identity: KeyIdentity, deps: KeyClientDeps) {
    this.deps = deps
    this.resource = identity.resource
    this.account = parseServiceAccount(identity.params.credentials_json ?? '')
    this.tokens = this.account.ok ? new ServiceAccountTokens(this.account.value, SERVICE) : null
    const host = this.account.ok ? serviceHost(this.account.value, SERVICE) : ''
    this.base = `${endpointOf(identity, 'endpoint', `https://${host}`)}/v1/${identity.resource}`
  }

  async publicKey(): Promise<Result<Uint8Array, KeyFailure>> {
    const call = 'getPublicKey'
    const found = await this.call(call, { url: `${this.base}/publicKey`, method: 'GET', headers: [] })
    if (!found.ok) return found
    const pem = textMember(found.value, 'pem')
    if (pem === null) return err({ call, message: 'the response has no `pem`' })
    if (!hasChecksum(found.value.pemCrc32c, Buffer.from(pem)))
      return err({ call, message: 'the checksum `pemCrc32c` of the response is wrong' })
    const algorithm = textMember(found.value, 'algorithm')
    if (algorithm !== ALGORITHM)
      return err({ call, message: `the key has the algorithm ${algorithm ?? 'unknown'}; expected ${ALGORITHM}` })
    if (textMember(found.value, 'name') !== this.resource)
      return err({ call, message: 'the response is about another key' })
    try {
      return ok(createPublicKey(pem).export({ type: 'spki', format: 'der' }))
    } catch {
      return err({ call, message: 'the response has a malformed public key' })
    }
  }

  async sign(text: Uint8Array): Promise<Result<Uint8Array, KeyFailure>> {
    const call = 'asymmetricSign'
    const digest = createHash('sha256').update(text).digest()
    const body = JSON.stringify({
      digest: { sha256: digest.toString('base64') },
      digestCrc32c: String(crc32c(digest)),
    })
    const headers = [['content-type', 'application/json']] as const
    const signed = await this.call(call, { url: `${this.base}:asymmetricSign`, method: 'POST', headers, body })
    if (!signed.ok) return signed
    if (signed.value.verifiedDigestCrc32c !== true)
      return err({ call, message: 'the service did not verify the checksum of the digest' })
    if (textMember(signed.value, 'name') !== this.resource)
      return err({ call, message: 'the response is about another key' })
    const signature = decodeBase64(textMember(signed.value, 'signature') ?? '')
    if (signature === null || signature.length === 0) return err({ call, message: 'the response has no `signature`' })
    return hasChecksum(signed.value.signatureCrc32c, signature)
      ? ok(signature)
      : err({ call, message: 'the checksum `signatureCrc32c` of the response is wrong' })
  }

  private async call(
    call: string,
    request: ServiceRequest,
  ): Promise<Result<Readonly<Record<string, unknown>>, KeyFailure>> {
    const { account, tokens } = this
    if (!account.ok || tokens === null) return err({ call, message: account.ok ? '' : `auth_params.${account.error}` })
    const token = await tokens.current()
    if (!token.ok) return err({ call, message: `auth_params.${token.error}` })
    const authorization = ['authorization', `Bearer ${token.value}`] as const
    const response = await callService(
      this.deps,
      call,
      deadlineOf(this.deps),
      [token.value, account.value.private_key],
      () => ({ ...request, headers: [...request.headers, authorization] }),
    )
    if (!response.ok) {
      tokens.forget()
      return response
    }
    return jsonOf(call, response.value)
  }
}

/** Numbers of 64 bits are strings in the JSON of the service. */
function hasChecksum(given: unknown, bytes: Uint8Array): boolean {
  return String(given) === String(crc32c(bytes))
}
