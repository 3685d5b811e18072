// The client of CLOUD1's key service: GetPublicKey and Sign of AWS KMS, signed with Signature Version 4, with the credentials of a
// user or of a role that the user assumes.
// https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html
import { AwsV4Signer } from 'aws4fetch'
import { err, ok, type Result } from '../../kernel/result.ts'
import { decodeBase64 } from '../log/checkpoint.ts'
import type { CustomerKey, KeyClientDeps, KeyFailure, KeyIdentity, KeyService } from './customer-key.ts'
import { endpointErrors, endpointOf, missingParams, unknownParams } from './identity-rules.ts'
import {
  callService,
  type Deadline,
  deadlineOf,
  jsonOf,
  type ServiceRequest,
  textMember,
  xmlElement,
} from './service-call.ts'

const PARAMS = [
  'access_key_id',
  'secret_access_key',
  'session_token',
  'role_arn',
  'external_id',
  'region',
  'endpoint',
  'sts_endpoint',
] as const

const KEY_ARN = /^arn:(aws[a-z-]*):kms:([a-z0-9-]+):\d{12}:(?:key|alias)\/[A-Za-z0-9/_-]+$/
/** A key id, or an alias, of the account and region of the credentials. */
const KEY_NAME = /^(?:alias\/[A-Za-z0-9/_-]+|[A-Za-z0-9-]+)$/
const ROLE_ARN = /^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/
const REGION = /^[a-z]{2,}(?:-[a-z0-9]+)+$/
/** https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html: the limit of a message with the type RAW. */
const MESSAGE_BYTES_MAX = 4096
const ROLE_SECONDS = 3600
/** Credentials of a role are replaced before they expire. */
const ROLE_MARGIN_MS = 300_000
const STS_VERSION = '2011-06-15'

interface SigningCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** The key service of `CUSTOMER_CLOUD1_KMS`. */
export const cloud1Kms: KeyService = {
  params: PARAMS,
  errors(identity, upstream) {
    const { resource, params } = identity
    const isArn = KEY_ARN.test(resource)
    const region = params.region ?? ''
    const role = params.role_arn ?? ''
    return [
      ...unknownParams(identity, PARAMS),
      ...missingParams(identity, ['access_key_id', 'secret_access_key']),
      ...(isArn || KEY_NAME.test(resource)
        ? []
        : ['key_resource: expected the ARN of a key or an alias, a key id, or `alias/` and a name']),
      ...(isArn || region !== '' ? [] : ['auth_params.region: required unless `key_resource` is an ARN']),
      ...(region === '' || REGION.test(region) ? [] : ['auth_params.region: expected a region, such as `eu-west-1`']),
      ...(isArn && region !== '' && region !== KEY_ARN.exec(resource)?.[2]
        ? ['auth_params.region: differs from that of `key_resource`']
        : []),
      ...(role === '' || ROLE_ARN.test(role) ? [] : ['auth_params.role_arn: expected the ARN of a role']),
      ...((params.external_id ?? '') !== '' && role === ''
        ? ['auth_params.external_id: only together with `role_arn`']
        : []),
      ...endpointErrors(identity, 'endpoint', upstream),
      ...endpointErrors(identity, 'sts_endpoint', upstream),
    ]
  },
  open: (identity, deps) => new Cloud1Key(identity, deps),
}

class Cloud1Key implements CustomerKey {
  private readonly identity: KeyIdentity
  private readonly deps: KeyClientDeps
  private readonly region: string
  private readonly domain: string
  private role: { readonly credentials: SigningCredentials; readonly replaceAtMs: number } | null = null

  constructor(identity: KeyIdentity, deps: KeyClientDeps) {
    this.identity = identity
    this.deps = deps
    const [, partition, arnRegion] = KEY_ARN.exec(identity.resource) ?? []
    this.region = arnRegion ?? identity.params.region ?? ''
    const isChina = partition === 'aws-cn' || this.region.startsWith('cn-')
    this.domain = isChina ? 'amazonaws.com.cn' : 'amazonaws.com'
  }

  async publicKey(): Promise<Result<Uint8Array, KeyFailure>> {
    const call = 'GetPublicKey'
    const found = await this.call(call, { KeyId: this.identity.resource })
    if (!found.ok) return found
    const usage = textMember(found.value, 'KeyUsage')
    if (usage !== null && usage !== 'SIGN_VERIFY')
      return err({ call, message: `the key has the usage ${usage}; expected SIGN_VERIFY` })
    return binaryMember(call, found.value, 'PublicKey')
  }

  async sign(text: Uint8Array): Promise<Result<Uint8Array, KeyFailure>> {
    const call = 'Sign'
    if (text.byteLength > MESSAGE_BYTES_MAX)
      return err({ call, message: `the text has ${text.byteLength} bytes; the service signs ${MESSAGE_BYTES_MAX}` })
    const signed = await this.call(call, {
      KeyId: this.identity.resource,
      Message: Buffer.from(text).toString('base64'),
      MessageType: 'RAW',
      SigningAlgorithm: 'ECDSA_SHA_256',
    })
    return signed.ok ? binaryMember(call, signed.value, 'Signature') : signed
  }

  private async call(
    operation: string,
    input: Readonly<Record<string, string>>,
  ): Promise<Result<Readonly<Record<string, unknown>>, KeyFailure>> {
    const deadline = deadlineOf(this.deps)
    const credentials = await this.credentials(deadline)
    if (!credentials.ok) return credentials
    const url = `${endpointOf(this.identity, 'endpoint', `https://kms.${this.region}.${this.domain}`)}/`
    const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `TrentService.${operation}` }
    const response = await callService(this.deps, operation, deadline, secretsOf(credentials.value), () =>
      this.signed('kms', url, headers, JSON.stringify(input), credentials.value),
    )
    if (!response.ok) {
      // They may have been revoked.
      this.role = null
      return response
    }
    return jsonOf(operation, response.value)
  }

  private async credentials(deadline: Deadline): Promise<Result<SigningCredentials, KeyFailure>> {
    const { access_key_id = '', secret_access_key = '', session_token = '', role_arn = '' } = this.identity.params
    const own: SigningCredentials = {
      accessKeyId: access_key_id,
      secretAccessKey: secret_access_key,
      ...(session_token !== '' && { sessionToken: session_token }),
    }
    if (role_arn === '') return ok(own)
    if (this.role !== null && Date.now() < this.role.replaceAtMs) return ok(this.role.credentials)
    return this.assumeRole(own, role_arn, deadline)
  }

  /** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html */
  private async assumeRole(
    own: SigningCredentials,
    role: string,
    deadline: Deadline,
  ): Promise<Result<SigningCredentials, KeyFailure>> {
    const call = 'AssumeRole'
    const externalId = this.identity.params.external_id ?? ''
    const form = new URLSearchParams({
      Action: call,
      Version: STS_VERSION,
      RoleArn: role,
      RoleSessionName: 'verdigraph-audit',
      DurationSeconds: String(ROLE_SECONDS),
      ...(externalId !== '' && { ExternalId: externalId }),
    })
    const url = `${endpointOf(this.identity, 'sts_endpoint', `https://sts.${this.region}.${this.domain}`)}/`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const secrets = [...secretsOf(own), externalId]
    const response = await callService(this.deps, call, deadline, secrets, () =>
      this.signed('sts', url, headers, form.toString(), own),
    )
    if (!response.ok) return response
    const xml = new TextDecoder().decode(response.value.body)
    const [id, secret, token] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].map((name) => xmlElement(xml, name))
    if (id == null || secret == null || token == null) return err({ call, message: 'the response has no credentials' })
    const credentials = { accessKeyId: id, secretAccessKey: secret, sessionToken: token }
    const expiresMs = Date.parse(xmlElement(xml, 'Expiration') ?? '')
    const endMs = Number.isNaN(expiresMs) ? Date.now() + ROLE_SECONDS * 1000 : expiresMs
    this.role = { credentials, replaceAtMs: endMs - ROLE_MARGIN_MS }
    return ok(credentials)
  }

  private async signed(
    service: string,
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    credentials: SigningCredentials,
  ): Promise<ServiceRequest> {
    const signer = new AwsV4Signer({ method: 'POST', url, headers, body, service, region: this.region, ...credentials })
    const signed = await signer.sign()
    return { url, method: 'POST', headers: [...signed.headers], body }
  }
}

function secretsOf({ secretAccessKey, sessionToken = '' }: SigningCredentials): readonly string[] {
  return [secretAccessKey, sessionToken]
}

function binaryMember(call: string, response: unknown, name: string): Result<Uint8Array, KeyFailure> {
  const bytes = decodeBase64(textMember(response, name) ?? '')
  return bytes === null || bytes.length === 0 ? err({ call, message: `the response has no \`${name}\`` }) : ok(bytes)
}
