// The client of CLOUD1's key service: GetPublicKey and Sign of AWS KMS, signed with Signature Version 4, with the credentials of a
// user, or of a role that the user or this service assumes.
// https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html
import { AwsV4Signer } from 'aws4fetch'
import { err, ok, type Result } from '../../kernel/result.ts'
import { xmlElement } from '../../kernel/text/xml-elements.ts'
import { decodeBase64 } from '../log/checkpoint.ts'
import { type SigningCredentials, serviceEndpoint, serviceIdentityOf } from './cloud1-identity.ts'
import type { CustomerKey, KeyClientDeps, KeyFailure, KeyIdentity, KeyService } from './customer-key.ts'
import { endpointErrors, endpointOf, missingParams, unknownParams } from './identity-rules.ts'
import { callService, type Deadline, deadlineOf, jsonOf, type ServiceRequest, textMember } from './service-call.ts'

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

/** The parameters of an access key. Without them this service assumes the role. */
const ACCESS_KEY_PARAMS = ['access_key_id', 'secret_access_key', 'session_token'] as const
const NO_IDENTITY =
  'this service has no credentials to assume it: add `access_key_id` and `secret_access_key`, or have the operator set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN'

interface TemporaryCredentials {
  readonly credentials: SigningCredentials
  readonly replaceAtMs: number
}

/** The key service of `CUSTOMER_CLOUD1_KMS`. */
export const cloud1Kms: KeyService = {
  params: PARAMS,
  errors(identity, deps) {
    const { resource, params } = identity
    const { upstream } = deps
    const isArn = KEY_ARN.test(resource)
    const region = params.region ?? ''
    const role = params.role_arn ?? ''
    return [
      ...unknownParams(identity, PARAMS),
      ...(isOwnKey(params)
        ? missingParams(identity, ['access_key_id', 'secret_access_key'])
        : serviceRoleErrors(identity, deps)),
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
  private role: TemporaryCredentials | null = null
  /** Of this service, in exchange for its token. */
  private service: TemporaryCredentials | null = null

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
    const publicAddress = `https://kms.${this.region}.${this.domain}`
    const hasKey = isOwnKey(this.identity.params)
    const standard = hasKey ? publicAddress : serviceEndpoint(this.deps, 'KMS', publicAddress)
    const url = `${endpointOf(this.identity, 'endpoint', standard)}/`
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
    const { params, projectId } = this.identity
    const { access_key_id = '', secret_access_key = '', session_token = '', role_arn = '', external_id = '' } = params
    const hasKey = isOwnKey(params)
    const own: SigningCredentials = {
      accessKeyId: access_key_id,
      secretAccessKey: secret_access_key,
      ...(session_token !== '' && { sessionToken: session_token }),
    }
    if (role_arn === '') return ok(own)
    if (isValid(this.role)) return ok(this.role.credentials)
    const assuming = hasKey ? ok(own) : await this.serviceCredentials(deadline)
    if (!assuming.ok) return assuming
    // The id of the project: the trust policy of a role decides which projects may have this service assume it, so a project
    // cannot use the role of another one. https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html
    const externalId = hasKey ? external_id : projectId
    const form = {
      RoleArn: role_arn,
      RoleSessionName: 'verdigraph-audit',
      DurationSeconds: String(ROLE_SECONDS),
      ...(externalId !== '' && { ExternalId: externalId }),
    }
    const secrets = [...secretsOf(assuming.value), external_id]
    const role = await this.tokenCall('AssumeRole', form, deadline, secrets, assuming.value)
    if (!role.ok) {
      this.service = null
      return role
    }
    this.role = role.value
    return ok(role.value.credentials)
  }

  /** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html */
  private async serviceCredentials(deadline: Deadline): Promise<Result<SigningCredentials, KeyFailure>> {
    const call = 'AssumeRoleWithWebIdentity'
    const identity = serviceIdentityOf(this.deps)
    if (identity === null) return err({ call: 'AssumeRole', message: NO_IDENTITY })
    if (identity.kind === 'access-key') return ok(identity.credentials)
    if (isValid(this.service)) return ok(this.service.credentials)
    const { tokenFile, role, session } = identity
    let token: string
    try {
      // Read each time: the file gets another token before this one expires.
      token = (await Bun.file(tokenFile).text()).trim()
    } catch (failure) {
      return err({ call, message: 'the token of this service cannot be read', detail: String(failure) })
    }
    const form = { RoleArn: role, RoleSessionName: session, WebIdentityToken: token }
    const exchanged = await this.tokenCall(call, form, deadline, [token], null)
    if (!exchanged.ok) return exchanged
    this.service = exchanged.value
    return ok(exchanged.value.credentials)
  }

  /**
   * Requests credentials of a role. `credentials`: those that sign the request; null: it is not signed.
   * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
   */
  private async tokenCall(
    call: string,
    parameters: Readonly<Record<string, string>>,
    deadline: Deadline,
    secrets: readonly string[],
    credentials: SigningCredentials | null,
  ): Promise<Result<TemporaryCredentials, KeyFailure>> {
    const body = new URLSearchParams({ Action: call, Version: STS_VERSION, ...parameters }).toString()
    const standard = `https://sts.${this.region}.${this.domain}`
    const endpoint = isOwnKey(this.identity.params)
      ? endpointOf(this.identity, 'sts_endpoint', standard)
      : serviceEndpoint(this.deps, 'STS', standard)
    const url = `${endpoint}/`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await callService(this.deps, call, deadline, secrets, () =>
      credentials === null
        ? { url, method: 'POST', headers: Object.entries(headers), body }
        : this.signed('sts', url, headers, body, credentials),
    )
    if (!response.ok) return response
    const xml = new TextDecoder().decode(response.value.body)
    const [id, secret, token] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].map((name) => xmlElement(xml, name))
    if (id == null || secret == null || token == null) return err({ call, message: 'the response has no credentials' })
    const expiresMs = Date.parse(xmlElement(xml, 'Expiration') ?? '')
    const endMs = Number.isNaN(expiresMs) ? Date.now() + ROLE_SECONDS * 1000 : expiresMs
    const received = { accessKeyId: id, secretAccessKey: secret, sessionToken: token }
    return ok({ credentials: received, replaceAtMs: endMs - ROLE_MARGIN_MS })
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

function isOwnKey(params: KeyIdentity['params']): boolean {
  return ACCESS_KEY_PARAMS.some((name) => (params[name] ?? '') !== '')
}

function isValid(credentials: TemporaryCredentials | null): credentials is TemporaryCredentials {
  return credentials !== null && Date.now() < credentials.replaceAtMs
}

/** The rules for a role that this service assumes. */
function serviceRoleErrors({ params }: KeyIdentity, deps: Pick<KeyClientDeps, 'environment'>): string[] {
  if ((params.role_arn ?? '') === '')
    return [
      'auth_params.role_arn: required for this provider, unless there are `access_key_id` and `secret_access_key`',
    ]
  const only = 'only together with `access_key_id`'
  return [
    ...(serviceIdentityOf(deps) === null ? [`auth_params.role_arn: ${NO_IDENTITY}`] : []),
    // The token of this service would be sent to this address.
    ...((params.sts_endpoint ?? '') === '' ? [] : [`auth_params.sts_endpoint: ${only}`]),
    ...((params.external_id ?? '') === ''
      ? []
      : [`auth_params.external_id: ${only}; without it, the id of the project is sent`]),
  ]
}

function secretsOf({ secretAccessKey, sessionToken = '' }: SigningCredentials): readonly string[] {
  return [secretAccessKey, sessionToken]
}

function binaryMember(call: string, response: unknown, name: string): Result<Uint8Array, KeyFailure> {
  const bytes = decodeBase64(textMember(response, name) ?? '')
  return bytes === null || bytes.length === 0 ? err({ call, message: `the response has no \`${name}\`` }) : ok(bytes)
}
