// Fakes of three key services with real keys. They check the credentials of every request as the vendors do: Signature
// Version 4, a JWT of a service account, and a token of a service principal. test/stress/audit-keys.ts checks them with the vendors'
// own SDKs.
import {
  createHash,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  timingSafeEqual,
} from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { jwtVerify } from 'jose'

/** The kinds of keys that a customer could create by mistake, and the right one. */
export type StandInKeyType = 'P-256' | 'P-384' | 'RSA'

/** How the services behave. Tests change it while they run. */
export interface KeyServiceBehaviour {
  /** Answers a call instead of the service. `call`: the vendor's name, such as `Sign`. Null: the service answers. */
  fault: ((call: string) => Response | null | Promise<Response | null>) | null
  /** The key that every service has. */
  key: { readonly type: StandInKeyType; readonly privateKey: KeyObject; readonly publicKey: KeyObject }
  /** True: signatures are made with another key. */
  isForging: boolean
  isDisabled: boolean
  /** True: the credentials may read the key, and may not sign. */
  isReadOnly: boolean
  /** The external id that the trust policy of the role requires of the service; null: the service may not assume it. */
  trusted: string | null
  /** How long the credentials of a role and the tokens of a service principal are valid. */
  lifetimeS: number
}

/** Running fakes. */
export interface KeyServices {
  /** `http://127.0.0.1:…`, or `https://localhost:…`. */
  readonly url: string
  readonly behaviour: KeyServiceBehaviour
  /** The calls that were answered, as the vendors name them. */
  readonly calls: string[]
  /** The body of a create request for each provider, without project and name. */
  readonly configurations: Readonly<Record<string, KeyConfiguration>>
  /** As `configurations`, of a role that the service assumes with one of `identities`. */
  readonly serviceRole: KeyConfiguration
  /** Environment variables that give the service an identity in CLOUD1: an access key, or a token in a file. */
  readonly identities: Readonly<Record<'accessKey' | 'webIdentity', Readonly<Record<string, string>>>>
  /** All secrets that requests and configurations contain. */
  readonly secrets: readonly string[]
  stop(): Promise<void>
}

/** Members of an audit signing. */
export interface KeyConfiguration {
  readonly provider: string
  readonly key_resource: string
  readonly kid: string
  readonly auth_params: Readonly<Record<string, string>>
}

/** Creates a key pair. */
export function standInKey(type: StandInKeyType = 'P-256'): KeyServiceBehaviour['key'] {
  const pair =
    type === 'RSA'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: type })
  return { type, ...pair }
}

const ROLE = 'arn:aws:iam::111122223333:role/audit-signer'
const EXTERNAL_ID = 'external-0815'
const SERVICE_ROLE = 'arn:aws:iam::444455556666:role/verdigraph'
const REGION = 'eu-west-1'
const ARN = `arn:aws:kms:${REGION}:111122223333:key/0b4f2f1e-6f5c-4a40-8d6f-111111111111`
const VERSION = 'projects/customer-1/locations/europe-west1/keyRings/audit/cryptoKeys/log/cryptoKeyVersions/3'
const TENANT = '0f8fad5b-d9cb-469f-a165-70867728950e'
const VAULT_KEY = '/keys/audit/78deebed173b48e48f55abf87ed4cf71'
const certificates = join(import.meta.dirname, '..', 'data', 'certificates')

type SharedAccountKey = { readonly privateKey: KeyObject; readonly publicKey: KeyObject }

/** The key of the service account, the same for all fakes of a process: generating an RSA key takes longer than a test. */
let serviceAccountKey: SharedAccountKey | null = null

function serviceAccount(): SharedAccountKey {
  serviceAccountKey ??= generateKeyPairSync('rsa', { modulusLength: 2048 })
  return serviceAccountKey
}

/** Starts the fakes. `secure`: with TLS, as the vendors' SDKs require. */
export function startKeyServices({ secure = false } = {}): KeyServices {
  const behaviour: KeyServiceBehaviour = {
    fault: null,
    key: standInKey(),
    isForging: false,
    isDisabled: false,
    isReadOnly: false,
    trusted: null,
    lifetimeS: 3600,
  }
  const forger = standInKey()
  const calls: string[] = []
  const secretKey = randomBytes(30).toString('base64url')
  const roleSecretKey = randomBytes(30).toString('base64url')
  const sessionToken = randomBytes(60).toString('base64url')
  const serviceKey = randomBytes(30).toString('base64url')
  const serviceSession = randomBytes(60).toString('base64url')
  const serviceToken = randomBytes(60).toString('base64url')
  const clientSecret = randomBytes(30).toString('base64url')
  const vaultToken = randomBytes(60).toString('base64url')
  const account = serviceAccount()
  const accountPem = account.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const awsKeys = new Map([
    ['AKIDUSER', { secret: secretKey, token: '' }],
    ['AKIDSERVICE', { secret: serviceKey, token: '' }],
    ['ASIASERVICE', { secret: serviceKey, token: serviceSession }],
    ['ASIAROLE', { secret: roleSecretKey, token: sessionToken }],
  ])

  function signature(text: Uint8Array, form: 'der' | 'ieee-p1363'): Uint8Array {
    const { privateKey } = behaviour.isForging ? forger : behaviour.key
    return sign(behaviour.key.type === 'P-384' ? 'sha384' : 'sha256', text, { key: privateKey, dsaEncoding: form })
  }

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url)
    const body = await request.text()
    const call = callOf(request, url, body)
    calls.push(call)
    const fault = await behaviour.fault?.(call)
    if (fault != null) return fault
    if (call === 'AssumeRoleWithWebIdentity') return webIdentity(new URLSearchParams(body))
    if (request.headers.has('x-amz-date')) return cloud1(request, url, body, call)
    if (url.pathname.startsWith('/v1/')) return cloud2(request, url, body)
    return cloud3(request, url, body)
  }

  // -- CLOUD1: https://docs.aws.amazon.com/kms/latest/APIReference/

  function cloud1(request: Request, url: URL, body: string, call: string): Response {
    const problem = signatureProblem(request, url, body, awsKeys)
    if (problem !== null) return awsError(403, 'InvalidSignatureException', problem)
    if (call === 'AssumeRole') {
      const form = new URLSearchParams(body)
      const isUser = request.headers.get('authorization')?.includes('AKIDUSER') === true
      const externalId = isUser ? EXTERNAL_ID : behaviour.trusted
      if (form.get('RoleArn') !== ROLE || externalId === null || form.get('ExternalId') !== externalId)
        return stsError('User: arn:aws:iam::111122223333:user/signer is not authorized to perform: sts:AssumeRole')
      return stsCredentials(call, 'ASIAROLE', roleSecretKey, sessionToken)
    }
    const input = JSON.parse(body)
    if (input.KeyId !== ARN) return awsError(400, 'NotFoundException', `Key '${input.KeyId}' does not exist`)
    if (behaviour.isDisabled) return awsError(400, 'DisabledException', `${ARN} is disabled.`)
    const json = { headers: { 'content-type': 'application/x-amz-json-1.1' } }
    const { type, publicKey } = behaviour.key
    const spec = { 'P-256': 'ECC_NIST_P256', 'P-384': 'ECC_NIST_P384', RSA: 'RSA_2048' }[type]
    if (call === 'GetPublicKey') {
      const PublicKey = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
      return Response.json({ KeyId: ARN, KeySpec: spec, KeyUsage: 'SIGN_VERIFY', PublicKey }, json)
    }
    if (behaviour.isReadOnly)
      return awsError(400, 'AccessDeniedException', 'User: signer is not authorized to perform: kms:Sign')
    if (input.MessageType !== 'RAW' || input.SigningAlgorithm !== 'ECDSA_SHA_256' || type !== 'P-256')
      return awsError(400, 'InvalidKeyUsageException', 'the algorithm is incompatible with the key')
    const Signature = Buffer.from(signature(Buffer.from(input.Message, 'base64'), 'der')).toString('base64')
    return Response.json({ KeyId: ARN, SigningAlgorithm: 'ECDSA_SHA_256', Signature }, json)
  }

  function webIdentity(form: URLSearchParams): Response {
    if (form.get('WebIdentityToken') !== serviceToken || form.get('RoleArn') !== SERVICE_ROLE)
      return stsError('Not authorized to perform sts:AssumeRoleWithWebIdentity')
    return stsCredentials('AssumeRoleWithWebIdentity', 'ASIASERVICE', serviceKey, serviceSession)
  }

  function stsCredentials(call: string, id: string, secret: string, token: string): Response {
    const expiration = new Date(Date.now() + behaviour.lifetimeS * 1000).toISOString()
    const credentials = `<Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey><SessionToken>${token}</SessionToken><Expiration>${expiration}</Expiration></Credentials>`
    return new Response(`<${call}Response><${call}Result>${credentials}</${call}Result></${call}Response>`, {
      headers: { 'content-type': 'text/xml' },
    })
  }

  function stsError(message: string): Response {
    const xml = `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>${message}</Message></Error></ErrorResponse>`
    return new Response(xml, { status: 403, headers: { 'content-type': 'text/xml' } })
  }

  // -- CLOUD2: https://cloud.google.com/kms/docs/reference/rest

  async function cloud2(request: Request, url: URL, body: string): Promise<Response> {
    const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? ''
    const verified = await jwtVerify(token, account.publicKey, {
      issuer: 'signer@customer-1.iam.gserviceaccount.com',
      subject: 'signer@customer-1.iam.gserviceaccount.com',
      algorithms: ['RS256'],
    }).catch((fault: unknown) => String(fault))
    if (typeof verified === 'string') return googleError(401, 'UNAUTHENTICATED', verified)
    const { aud, scope } = verified.payload
    // The SDK sends a scope in place of the audience.
    if (aud !== 'https://cloudkms.googleapis.com/' && typeof scope !== 'string')
      return googleError(401, 'UNAUTHENTICATED', `the audience ${String(aud)}`)
    const [, name = '', verb = ''] =
      /^\/v1\/(.*?)(\/publicKey|:asymmetricSign)$/.exec(decodeURIComponent(url.pathname)) ?? []
    if (name !== VERSION) return googleError(404, 'NOT_FOUND', `CryptoKeyVersion ${name} not found.`)
    if (behaviour.isDisabled)
      return googleError(400, 'FAILED_PRECONDITION', `${VERSION} is not enabled, current state is: DISABLED.`)
    const { type, publicKey } = behaviour.key
    const algorithm = {
      'P-256': 'EC_SIGN_P256_SHA256',
      'P-384': 'EC_SIGN_P384_SHA384',
      RSA: 'RSA_SIGN_PSS_2048_SHA256',
    }[type]
    if (verb === '/publicKey') {
      const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string
      return Response.json({ name, pem, algorithm, protectionLevel: 'HSM', pemCrc32c: checksum(Buffer.from(pem)) })
    }
    if (behaviour.isReadOnly)
      return googleError(403, 'PERMISSION_DENIED', `Permission 'cloudkms.cryptoKeyVersions.useToSign' denied`)
    const { digest, digestCrc32c } = JSON.parse(body)
    const bytes = Buffer.from(digest.sha256, 'base64')
    if (digestCrc32c !== undefined && String(digestCrc32c) !== checksum(bytes))
      return googleError(400, 'INVALID_ARGUMENT', 'The checksum in field digest_crc32c did not match.')
    const signed = signDigest(bytes, 'der')
    return Response.json({
      name,
      signature: Buffer.from(signed).toString('base64'),
      signatureCrc32c: checksum(signed),
      verifiedDigestCrc32c: digestCrc32c !== undefined,
      protectionLevel: 'HSM',
    })
  }

  // -- CLOUD3: https://learn.microsoft.com/en-us/rest/api/keyvault/keys

  function cloud3(request: Request, url: URL, body: string): Response {
    if (url.pathname === `/${TENANT}/oauth2/v2.0/token`) {
      const form = new URLSearchParams(body)
      const isRight = form.get('client_secret') === clientSecret && form.get('client_id') === 'client-1'
      if (!isRight || form.get('scope') !== 'https://vault.azure.net/.default')
        return Response.json(
          { error: 'invalid_client', error_description: 'AADSTS7000215: Invalid client secret provided.' },
          { status: 401 },
        )
      return Response.json({ token_type: 'Bearer', expires_in: behaviour.lifetimeS, access_token: vaultToken })
    }
    if (request.headers.get('authorization') !== `Bearer ${vaultToken}`) {
      const challenge = `Bearer authorization="${origin(url)}/${TENANT}", resource="https://vault.azure.net"`
      return azureError(401, 'Unauthorized', 'AKV10000: Request is missing a Bearer or PoP token.', {
        'www-authenticate': challenge,
      })
    }
    const isKey = url.pathname === VAULT_KEY || url.pathname === `${VAULT_KEY}/sign`
    if (!isKey || !url.searchParams.has('api-version'))
      return azureError(404, 'KeyNotFound', `A key with (name/id) ${url.pathname} was not found in this key vault.`)
    if (behaviour.isDisabled) return azureError(403, 'Forbidden', 'Operation sign is not allowed on a disabled key.')
    const kid = `${origin(url)}${VAULT_KEY}`
    if (request.method === 'GET') {
      const { kty, ...jwk } = behaviour.key.publicKey.export({ format: 'jwk' })
      const key = { kid, kty: `${kty}-HSM`, key_ops: ['sign', 'verify'], ...jwk }
      return Response.json({ key, attributes: { enabled: true } })
    }
    if (behaviour.isReadOnly)
      return azureError(403, 'Forbidden', 'Caller is not authorized to perform action keys/sign.')
    const { alg, value } = JSON.parse(body)
    if (alg !== 'ES256' || behaviour.key.type !== 'P-256')
      return azureError(400, 'BadParameter', 'Key and signing algorithm are incompatible.')
    const signed = signDigest(Buffer.from(value, 'base64url'), 'ieee-p1363')
    return Response.json({ kid, value: Buffer.from(signed).toString('base64url') })
  }

  /** Signs a digest. node:crypto signs texts only, so the text of a digest is not available here: see `ecdsaOfDigest`. */
  function signDigest(digest: Uint8Array, form: 'der' | 'ieee-p1363'): Uint8Array {
    const { privateKey } = behaviour.isForging ? forger : behaviour.key
    return ecdsaOfDigest(digest, privateKey, form)
  }

  const origin = ({ port }: URL): string => (secure ? `https://localhost:${port}` : `http://127.0.0.1:${port}`)
  const read = (name: string): string => readFileSync(join(certificates, name), 'utf8')
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: answer,
    ...(secure && { tls: { key: read('localhost.key'), cert: read('localhost.pem') } }),
  })
  const url = origin(new URL(`http://x:${server.port}`))
  const user = { access_key_id: 'AKIDUSER', secret_access_key: secretKey, endpoint: url, sts_endpoint: url }
  const tokenFile = join(mkdtempSync(join(tmpdir(), 'verdigraph-key-services-')), 'token')
  writeFileSync(tokenFile, `${serviceToken}\n`)
  const credentials = JSON.stringify({
    type: 'service_account',
    project_id: 'customer-1',
    private_key_id: 'key-1',
    private_key: accountPem,
    client_email: 'signer@customer-1.iam.gserviceaccount.com',
  })
  return {
    url,
    behaviour,
    calls,
    configurations: {
      CLOUD1: { provider: 'CUSTOMER_CLOUD1_KMS', key_resource: ARN, kid: 'customer.example/cloud1', auth_params: user },
      CLOUD1_ROLE: {
        provider: 'CUSTOMER_CLOUD1_KMS',
        key_resource: ARN,
        kid: 'customer.example/cloud1-role',
        auth_params: { ...user, role_arn: ROLE, external_id: EXTERNAL_ID },
      },
      CLOUD2: {
        provider: 'CUSTOMER_CLOUD2_KMS',
        key_resource: VERSION,
        kid: 'customer.example/cloud2',
        auth_params: { credentials_json: credentials, endpoint: url },
      },
      CLOUD3: {
        provider: 'CUSTOMER_CLOUD3_KEY_VAULT',
        key_resource: `https://customer-1.vault.azure.net${VAULT_KEY}`,
        kid: 'customer.example/cloud3',
        auth_params: {
          tenant_id: TENANT,
          client_id: 'client-1',
          client_secret: clientSecret,
          endpoint: url,
          authority: url,
        },
      },
    },
    // The only parameter is the one that the interface shows.
    serviceRole: {
      provider: 'CUSTOMER_CLOUD1_KMS',
      key_resource: ARN,
      kid: 'customer.example/cloud1-service',
      auth_params: { role_arn: ROLE },
    },
    identities: {
      accessKey: {
        AWS_ACCESS_KEY_ID: 'AKIDSERVICE',
        AWS_SECRET_ACCESS_KEY: serviceKey,
        AWS_ENDPOINT_URL_STS: url,
        AWS_ENDPOINT_URL_KMS: url,
      },
      webIdentity: {
        AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
        AWS_ROLE_ARN: SERVICE_ROLE,
        AWS_ENDPOINT_URL_STS: url,
        AWS_ENDPOINT_URL_KMS: url,
      },
    },
    secrets: [
      serviceKey,
      serviceSession,
      serviceToken,
      secretKey,
      roleSecretKey,
      sessionToken,
      clientSecret,
      vaultToken,
      accountPem,
      accountPem.split('\n')[3] ?? '',
    ],
    async stop() {
      await server.stop(true)
      rmSync(dirname(tokenFile), { recursive: true, force: true })
    },
  }
}

function callOf(request: Request, { pathname }: URL, body: string): string {
  const target = request.headers.get('x-amz-target')?.split('.')[1]
  if (target !== undefined) return target
  const action = new URLSearchParams(body).get('Action')
  if (request.headers.has('x-amz-date') || action !== null) return action ?? ''
  if (pathname.endsWith('/publicKey')) return 'getPublicKey'
  if (pathname.endsWith(':asymmetricSign')) return 'asymmetricSign'
  if (pathname.endsWith('/token')) return 'token'
  if (!request.headers.has('authorization')) return 'challenge'
  return pathname.endsWith('/sign') ? 'sign' : 'get key'
}

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html */
function signatureProblem(
  request: Request,
  url: URL,
  body: string,
  keys: ReadonlyMap<string, { readonly secret: string; readonly token: string }>,
): string | null {
  const header = request.headers.get('authorization') ?? ''
  const [, id = '', date = '', region = '', service = '', names = '', given = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      header,
    ) ?? []
  const key = keys.get(id)
  if (key === undefined) return 'The security token included in the request is invalid.'
  if ((request.headers.get('x-amz-security-token') ?? '') !== key.token) return 'The session token is invalid.'
  if (region !== REGION || !['kms', 'sts'].includes(service)) return 'Credential should be scoped to a valid region.'
  const time = request.headers.get('x-amz-date') ?? ''
  const sentMs = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(Date.now() - sentMs) < 300_000) || !time.startsWith(date)) return 'Signature expired.'
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
  const headers = names
    .split(';')
    .map((name) => `${name}:${name === 'host' ? url.host : request.headers.get(name)?.trim()}\n`)
  const canonical = [request.method, url.pathname, '', headers.join(''), names, sha256(body)].join('\n')
  const scope = `${date}/${region}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const hmac = (secret: string | Buffer, part: string): Buffer => createHmac('sha256', secret).update(part).digest()
  const signing = [date, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${key.secret}`)
  const isEqual = timingSafeEqual(hmac(signing, text), Buffer.from(given, 'hex'))
  return isEqual ? null : 'The request signature we calculated does not match the signature you provided.'
}

function awsError(status: number, type: string, message: string): Response {
  const headers = { 'content-type': 'application/x-amz-json-1.1' }
  return Response.json({ __type: type, message }, { status, headers })
}

function googleError(code: number, status: string, message: string): Response {
  return Response.json({ error: { code, message, status } }, { status: code })
}

function azureError(status: number, code: string, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error: { code, message } }, { status, headers })
}

/** CRC-32C bit by bit, as the specification defines it (RFC 3720, section 12.1). */
function checksum(bytes: Uint8Array): string {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  }
  return String((crc ^ 0xffffffff) >>> 0)
}

// -- ECDSA over a digest (FIPS 186-5, section 6.4.1), because node:crypto hashes the text itself.

/** The order of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

function ecdsaOfDigest(digest: Uint8Array, privateKey: KeyObject, form: 'der' | 'ieee-p1363'): Uint8Array {
  const n = ORDER
  const hexOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  const d = hexOf(Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url'))
  for (;;) {
    // The x coordinate of a random multiple of the base point is that of a new key pair.
    const nonce = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
    const k = hexOf(Buffer.from(nonce.d ?? '', 'base64url'))
    const r = hexOf(Buffer.from(nonce.x ?? '', 'base64url')) % n
    const s = (modularInverse(k, n) * (hexOf(digest) + r * d)) % n
    if (r === 0n || s === 0n) continue
    const raw = Buffer.from([r, s].map((part) => part.toString(16).padStart(64, '0')).join(''), 'hex')
    return form === 'ieee-p1363' ? raw : derOf(r, s)
  }
}

function modularInverse(value: bigint, modulus: bigint): bigint {
  let [result, base, exponent] = [1n, value % modulus, modulus - 2n]
  for (; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * base) % modulus
    base = (base * base) % modulus
  }
  return result
}

function derOf(...integers: readonly bigint[]): Uint8Array {
  const parts = integers.map((integer) => {
    const hex = integer.toString(16)
    const even = hex.length % 2 === 0 ? hex : `0${hex}`
    const bytes = Buffer.from(Number.parseInt(even.slice(0, 2), 16) >= 0x80 ? `00${even}` : even, 'hex')
    return Buffer.concat([Buffer.from([2, bytes.length]), bytes])
  })
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([0x30, body.length]), body])
}

/** The public key of the services, as a configuration shows it. */
export function publicKeyOf({ behaviour }: KeyServices): string {
  return createPublicKey(behaviour.key.privateKey).export({ type: 'spki', format: 'der' }).toString('base64')
}
