// The client of CLOUD3's key service: get key and sign of Azure Key Vault, with tokens of a service principal.
// https://learn.microsoft.com/en-us/rest/api/keyvault/keys/sign/sign
import { createHash, createPublicKey } from 'node:crypto'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { CustomerKey, KeyClientDeps, KeyFailure, KeyIdentity, KeyService } from './customer-key.ts'
import { derSignature } from './der-signature.ts'
import { endpointErrors, endpointOf, missingParams, unknownParams } from './identity-rules.ts'
import { callService, type Deadline, deadlineOf, jsonOf, type ServiceRequest, textMember } from './service-call.ts'

const PARAMS = ['tenant_id', 'client_id', 'client_secret', 'authority', 'endpoint'] as const
const API_VERSION = '7.4'
/** A version, because each has a public key of its own. */
const KEY_ID = /^https:\/\/([a-z0-9.-]+)\/keys\/([A-Za-z0-9-]{1,127})\/([0-9a-fA-F]{1,64})$/
/** The domains of vaults and managed HSMs. A token is sent to no other host unless `endpoint` names it. */
const VAULT_DOMAINS = [
  'vault.azure.net',
  'vault.azure.cn',
  'vault.usgovcloudapi.net',
  'managedhsm.azure.net',
  'managedhsm.azure.cn',
  'managedhsm.usgovcloudapi.net',
]
/** The client secret is sent to no other host unless `authority` names it. */
const AUTHORITIES = [
  'https://login.microsoftonline.com',
  'https://login.windows.net',
  'https://login.microsoftonline.us',
  'https://login.partner.microsoftonline.cn',
  'https://login.chinacloudapi.cn',
]
const TENANT = /^[A-Za-z0-9.-]{1,128}$/
/** A token is replaced before it expires. */
const TOKEN_MARGIN_MS = 300_000
const TOKEN_DEFAULT_S = 600

/** The key service of `CUSTOMER_CLOUD3_KEY_VAULT`. */
export const cloud3KeyVault: KeyService = {
  params: PARAMS,
  errors(identity, { upstream }) {
    const { resource, params } = identity
    const host = vaultHost(resource)
    const tenant = params.tenant_id ?? ''
    const isKnown = host === null || (params.endpoint ?? '') !== '' || isVaultHost(host)
    return [
      ...unknownParams(identity, PARAMS),
      ...missingParams(identity, ['tenant_id', 'client_id', 'client_secret']),
      ...(host === null
        ? ['key_resource: expected `https://VAULT.vault.azure.net/keys/NAME/VERSION`, with a version of the key']
        : []),
      ...(isKnown
        ? []
        : [
            `key_resource: \`${host}\` is not in a domain of key vaults; add \`auth_params.endpoint\` for another host`,
          ]),
      ...(tenant === '' || TENANT.test(tenant) ? [] : ['auth_params.tenant_id: expected an id or a domain']),
      ...endpointErrors(identity, 'authority', upstream),
      ...endpointErrors(identity, 'endpoint', upstream),
    ]
  },
  open: (identity, deps) => new Cloud3Key(identity, deps),
}

/** The host of the vault of a key, or null. */
export function vaultHost(resource: string): string | null {
  return KEY_ID.exec(resource)?.[1] ?? null
}

function isVaultHost(host: string): boolean {
  return VAULT_DOMAINS.some((domain) => host.endsWith(`.${domain}`))
}

class Cloud3Key implements CustomerKey {
  private readonly identity: KeyIdentity
  private readonly deps: KeyClientDeps
  private readonly url: string
  private token: { readonly text: string; readonly replaceAtMs: number } | null = null

  constructor(identity: KeyIdentity, deps: KeyClientDeps) {
    this.identity = identity
    this.deps = deps
    const [, host = '', name = '', version = ''] = KEY_ID.exec(identity.resource) ?? []
    this.url = `${endpointOf(identity, 'endpoint', `https://${host}`)}/keys/${name}/${version}`
  }

  async publicKey(): Promise<Result<Uint8Array, KeyFailure>> {
    const call = 'get key'
    const found = await this.call(call, { url: `${this.url}?api-version=${API_VERSION}`, method: 'GET', headers: [] })
    if (!found.ok) return found
    const { key } = found.value
    const type = textMember(key, 'kty')
    const curve = textMember(key, 'crv')
    if (!(type === 'EC' || type === 'EC-HSM') || curve !== 'P-256') {
      const description = [type, curve].filter((part) => part !== null).join(' ')
      return err({ call, message: `the key is of the type ${description || 'unknown'}; expected EC P-256` })
    }
    if (!this.isThisKey(textMember(key, 'kid'))) return err({ call, message: 'the response is about another key' })
    try {
      const jwk = { kty: 'EC', crv: 'P-256', x: textMember(key, 'x') ?? '', y: textMember(key, 'y') ?? '' }
      return ok(createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'der' }))
    } catch {
      return err({ call, message: 'the response has a malformed public key' })
    }
  }

  async sign(text: Uint8Array): Promise<Result<Uint8Array, KeyFailure>> {
    const call = 'sign'
    const value = createHash('sha256').update(text).digest('base64url')
    const signed = await this.call(call, {
      url: `${this.url}/sign?api-version=${API_VERSION}`,
      method: 'POST',
      headers: [['content-type', 'application/json']],
      body: JSON.stringify({ alg: 'ES256', value }),
    })
    if (!signed.ok) return signed
    if (!this.isThisKey(textMember(signed.value, 'kid')))
      return err({ call, message: 'the response is about another key' })
    const signature = derSignature(Buffer.from(textMember(signed.value, 'value') ?? '', 'base64url'))
    return signature === null
      ? err({ call, message: 'the response has no ES256 signature of 64 bytes' })
      : ok(signature)
  }

  /** A private endpoint may be named in the key id; name and version are always those of the key. */
  private isThisKey(id: string | null): boolean {
    const path = URL.parse(id ?? '')?.pathname.toLowerCase()
    return path === URL.parse(this.identity.resource)?.pathname.toLowerCase()
  }

  private async call(
    call: string,
    request: ServiceRequest,
  ): Promise<Result<Readonly<Record<string, unknown>>, KeyFailure>> {
    const deadline = deadlineOf(this.deps)
    const secret = this.identity.params.client_secret ?? ''
    const token = await this.currentToken(call, deadline)
    if (!token.ok) return token
    const authorization = ['authorization', `Bearer ${token.value}`] as const
    const response = await callService(this.deps, call, deadline, [secret, token.value], () => ({
      ...request,
      headers: [...request.headers, authorization],
    }))
    if (!response.ok) {
      this.token = null
      return response
    }
    return jsonOf(call, response.value)
  }

  private async currentToken(call: string, deadline: Deadline): Promise<Result<string, KeyFailure>> {
    if (this.token !== null && Date.now() < this.token.replaceAtMs) return ok(this.token.text)
    const challenge = await this.challenge(call, deadline)
    return challenge.ok ? this.requestToken(challenge.value, deadline) : challenge
  }

  /** A request without a token is answered with the authority and the audience of tokens. */
  private async challenge(call: string, deadline: Deadline): Promise<Result<TokenTarget, KeyFailure>> {
    const build = (): ServiceRequest => ({ url: `${this.url}?api-version=${API_VERSION}`, method: 'GET', headers: [] })
    const response = await callService(this.deps, call, deadline, [], build, [401])
    if (!response.ok) return response
    const { tenant_id: tenant = '', authority: given = '' } = this.identity.params
    const header = response.value.header('www-authenticate') ?? ''
    const authorization = URL.parse(
      challengeMember(header, 'authorization') ?? challengeMember(header, 'authorization_uri') ?? '',
    )
    if (authorization === null) return err({ call, message: 'the challenge of the service names no authority' })
    const allowed = given === '' ? AUTHORITIES : [new URL(given).origin]
    if (!allowed.includes(authorization.origin))
      return err({
        call,
        message: `the authority \`${authorization.origin}\` of the challenge is not allowed; add \`auth_params.authority\` if it is right`,
      })
    const [, challenged = ''] = authorization.pathname.split('/')
    // A challenge names the tenant by its id, the configuration may name it by a domain.
    const isOther = /^[0-9a-f-]{36}$/i.test(tenant) && challenged.toLowerCase() !== tenant.toLowerCase()
    if (isOther)
      return err({ call, message: `the vault is of the tenant \`${challenged}\`, not of \`auth_params.tenant_id\`` })
    const resource =
      challengeMember(header, 'resource') ?? challengeMember(header, 'scope')?.replace(/\/\.default$/, '') ?? ''
    // Else a vault could request a token for another service.
    const audience = URL.parse(resource)?.hostname ?? ''
    if (!VAULT_DOMAINS.includes(audience))
      return err({ call, message: `the challenge of the service requests a token for \`${resource}\`` })
    return ok({ authority: authorization.origin, tenant, scope: `${resource.replace(/\/$/, '')}/.default` })
  }

  /** https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow */
  private async requestToken(
    { authority, tenant, scope }: TokenTarget,
    deadline: Deadline,
  ): Promise<Result<string, KeyFailure>> {
    const call = 'token'
    const { client_id = '', client_secret = '' } = this.identity.params
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
    const response = await callService(this.deps, call, deadline, [client_secret], () => ({
      url: `${authority}/${tenant}/oauth2/v2.0/token`,
      method: 'POST',
      headers: [['content-type', 'application/x-www-form-urlencoded']],
      body: form.toString(),
    }))
    if (!response.ok) return response
    const answer = jsonOf(call, response.value)
    if (!answer.ok) return answer
    const text = textMember(answer.value, 'access_token')
    if (text === null) return err({ call, message: 'the response has no `access_token`' })
    const seconds = Number(answer.value.expires_in)
    const lifetimeMs = (Number.isFinite(seconds) ? seconds : TOKEN_DEFAULT_S) * 1000
    this.token = { text, replaceAtMs: Date.now() + lifetimeMs - TOKEN_MARGIN_MS }
    return ok(text)
  }
}

/** Where a token is requested. */
interface TokenTarget {
  readonly authority: string
  readonly tenant: string
  readonly scope: string
}

/** A parameter of a `WWW-Authenticate: Bearer` header. */
function challengeMember(header: string, name: string): string | null {
  if (!/^bearer\s/i.test(header)) return null
  const found = new RegExp(`(?:[\\s,])${name}="?([^",\\s]{1,2048})"?`, 'i').exec(header)
  return found?.[1] ?? null
}
