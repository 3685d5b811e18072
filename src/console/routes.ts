// The routes of the console: its page, its files, signing in and out. All other requests of the page go to the public API.
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { decodeJwt } from 'jose'
import { z } from 'zod'
import { errorStatuses, type RequestContext, type Route, type RouteResponse, type Tag } from '../http/route.ts'
import { serviceAccountRole } from '../identity/service-account-kinds.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import type { RefusedCredentials } from '../kernel/request/request-audit.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { isOwnOrigin } from './origin.ts'
import type { PageFiles } from './page-files.ts'
import { fileHeaderDescriptions, fileHeaders, pageHeaders, pageHtml } from './page-html.ts'
import type { SessionCookie } from './session-cookie.ts'
import type { ConsoleSession, ConsoleSessions, OpenedSession } from './sessions.ts'
import { LINK_LIFETIME_S, linkAddress, type SignInLinks } from './sign-in-link.ts'

const tag: Tag = {
  name: 'Console',
  description: 'The page at `/console`, and the sessions of its browsers.',
}

/** Collaborators of the routes. */
interface ConsoleRouteDeps {
  readonly sessions: ConsoleSessions
  readonly links: SignInLinks
  readonly cookie: SessionCookie
  readonly clock: Clock
  readonly version: string
  /** The setting `public_url`; may be empty. */
  readonly publicUrl: string
  readonly isTls: boolean
  /** Whether a host name, without port, names this service. */
  isOwnHost(hostname: string): boolean
  /** Builds or reads the files of the page; called once. */
  loadPage(): Promise<PageFiles>
  /** See `CredentialVerifier`. */
  authenticateServiceAccount(bearer: string): Promise<ServiceAccountCaller | null>
  refusedServiceAccount(bearer: string): RefusedCredentials
  /** The display name of an account. */
  accountName(accountId: string): string
}

const sessionSchema = z
  .object({
    version: z.string(),
    session: z
      .object({
        csrf_token: z.string().describe('For the header `X-CSRF-Token` of every request that is no GET.'),
        expire_time: z.string(),
        organization_id: z.string(),
        service_account_id: z.string(),
        display_name: z.string(),
        role: serviceAccountRole,
      })
      .nullable()
      .meta({ id: 'ConsoleSession' })
      .describe('Null: the browser is not signed in.'),
  })
  .meta({ id: 'ConsoleState' })
const signInSchema = z
  .strictObject({
    link: z.string().max(2000).optional().describe('The text after `#link=` in a one-time link.'),
    token: z.string().max(8000).optional().describe('A token of a service account.'),
  })
  .refine(({ link, token }) => (link === undefined) !== (token === undefined), 'expected either `link` or `token`')
  .meta({ id: 'ConsoleSignIn' })
type SignIn = z.infer<typeof signInSchema>

const linkSchema = z
  .object({ url: z.string(), expire_time: z.string() })
  .meta({ id: 'ConsoleLink', description: 'A link that signs in once.' })

const usedLink: ServiceError = {
  kind: 'unauthenticated',
  message: 'the link was used or is older than two minutes: `verdigraph console-link` prints another one',
}
const invalidToken: ServiceError = {
  kind: 'unauthenticated',
  message: 'the service account token is invalid or expired',
}
const needsToken: ServiceError = {
  kind: 'forbidden',
  message: 'a link is made with the token of a service account, not with a console session',
}
const wrongHost: ServiceError = {
  kind: 'malformed',
  issues: [
    'Host: expected an address of this machine and a port, from which the link is made. For another name set public_url',
  ],
}
const foreignOrigin: ServiceError = { kind: 'forbidden', message: 'Origin: sign in from a page of this service' }

/** Returns the routes. */
export function consoleRoutes(deps: ConsoleRouteDeps): Route[] {
  return [...pageRoutes(deps), ...sessionRoutes(deps)]
}

function pageRoutes(deps: ConsoleRouteDeps): Route[] {
  let loading: Promise<PageFiles> | null = null
  const page = (): Promise<PageFiles> => {
    loading ??= deps.loadPage().catch((failure: unknown) => {
      loading = null
      throw failure
    })
    return loading
  }
  const common = { method: 'GET', tag, auth: { kind: 'public' }, audit: 'none', request: null } as const
  return [
    {
      ...common,
      path: '/console',
      operationId: 'readConsole',
      summary: 'Read the page of the console',
      mediaType: 'text/html',
      responses: { 200: z.string() },
      responseHeaders: {
        'Content-Security-Policy': 'allows scripts, styles and requests of this service only',
        'Cross-Origin-Opener-Policy': 'same-origin',
        ...fileHeaderDescriptions,
      },
      async handle() {
        const { script, style } = await page()
        const nonce = randomBytes(16).toString('base64url')
        return ok({ status: 200, text: pageHtml(script, style, nonce), headers: pageHeaders(nonce) })
      },
    },
    {
      ...common,
      path: '/console/assets/{file}',
      operationId: 'readConsoleFile',
      summary: 'Read a script or a style sheet of the console',
      pathParameters: { file: 'The name of the file, which contains a hash of its content.' },
      mediaType: 'text/javascript',
      responses: { 200: z.string(), 304: null, ...errorStatuses(404) },
      responseHeaders: {
        ETag: 'the hash of the content',
        'Content-Encoding': 'gzip, if the client accepts it',
        Vary: 'Accept-Encoding',
        ...fileHeaderDescriptions,
      },
      async handle(context) {
        const name = context.pathParameters.file ?? ''
        const file = (await page()).files.get(name)
        if (file === undefined) return err({ kind: 'not-found', message: 'no such file' })
        const headers = {
          'content-type': file.mediaType,
          // The name changes with the content.
          'cache-control': 'public, max-age=31536000, immutable',
          etag: `"${name}"`,
          vary: 'Accept-Encoding',
          ...fileHeaders,
        }
        if (isKnown(context, headers.etag)) return ok({ status: 304, headers })
        if (acceptsGzip(context))
          return ok({ status: 200, bytes: file.gzipped, headers: { ...headers, 'content-encoding': 'gzip' } })
        return ok({ status: 200, bytes: new Uint8Array(await decompress(file.gzipped)), headers })
      },
    },
  ]
}

const decompress = promisify(gunzip)

/** RFC 9110, section 13.1.2. */
function isKnown(context: RequestContext, etag: string): boolean {
  const known = context.header('if-none-match') ?? ''
  return known.trim() === '*' || known.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
}

function acceptsGzip(context: RequestContext): boolean {
  return /(^|[\s,])(gzip|\*)\s*($|,|;\s*q=(?!0(\.0*)?\s*($|,)))/i.test(context.header('accept-encoding') ?? '')
}

function sessionRoutes(deps: ConsoleRouteDeps): Route[] {
  const { sessions, links, cookie, clock, publicUrl } = deps
  const path = '/console/v1/session'
  const account = { kind: 'service-account' } as const
  const writing = { always: true, limit: 'write', writes: 'once' } as const
  return [
    {
      method: 'GET',
      path,
      operationId: 'readConsoleSession',
      tag,
      summary: 'Read the session of the browser',
      // Without a session the answer is no error: the page then shows how to sign in.
      auth: { kind: 'public' },
      audit: 'none',
      request: null,
      responses: { 200: sessionSchema },
      handle(context) {
        // A page of another site or port must not learn who is signed in.
        const isForeign =
          ['cross-site', 'same-site'].includes(context.header('sec-fetch-site') ?? '') ||
          (context.header('origin') !== null && !isOwnOrigin(context, publicUrl))
        const session = isForeign ? null : sessions.findByCookie(context.header('cookie'))
        return ok({ status: 200, body: bodyOf(deps, session) })
      },
    },
    {
      method: 'POST',
      path,
      operationId: 'createConsoleSession',
      tag,
      summary: 'Sign a browser in with a one-time link or a token of a service account',
      description: 'Sets a cookie that the API accepts as a token of the account. Changes also need `X-CSRF-Token`.',
      auth: { kind: 'public' },
      lane: writing,
      request: signInSchema,
      example: { link: 'WyJ4Il0.c2lnbmF0dXJl' },
      responses: { 200: sessionSchema, ...errorStatuses(401, 403) },
      responseHeaders: { 'Set-Cookie': 'the session' },
      async handle(context, body) {
        if (context.header('origin') !== null && !isOwnOrigin(context, publicUrl)) return err(foreignOrigin)
        const opened = await openSession(deps, context, body as SignIn)
        if (!opened.ok) return opened
        const { secret, session } = opened.value
        context.identify({
          caller: session.caller,
          operation: 'createConsoleSession',
          target: null,
          isDecision: false,
          error: null,
        })
        const lifetimeS = Math.max(1, Math.floor((session.expiresAtMs - clock.now()) / 1000))
        return ok({
          status: 200,
          body: bodyOf(deps, session),
          headers: { 'set-cookie': cookie.set(secret, lifetimeS) },
        })
      },
    },
    {
      method: 'DELETE',
      path,
      operationId: 'deleteConsoleSession',
      tag,
      summary: 'Sign the browser out',
      auth: account,
      lane: writing,
      request: null,
      responses: { 204: null, ...errorStatuses(403, 404) },
      responseHeaders: { 'Set-Cookie': 'deletes the session' },
      async handle(context) {
        const session = sessions.findByCookie(context.header('cookie'))
        if (session === null) return err({ kind: 'not-found', message: 'the request has no console session' })
        await sessions.end(session)
        return ok({ status: 204, headers: { 'set-cookie': cookie.clear() } })
      },
    },
    {
      method: 'POST',
      path: '/console/v1/links',
      operationId: 'createConsoleLink',
      tag,
      summary: 'Make a one-time link to the console for the calling service account',
      auth: account,
      request: null,
      responses: { 201: linkSchema, ...errorStatuses(400, 403) },
      handle(context) {
        const { caller } = context
        const bearer = bearerOf(context)
        if (caller?.kind !== 'service-account' || bearer === null) return err(needsToken)
        const baseUrl = publicUrl === '' ? baseUrlOf(context, deps) : publicUrl
        if (baseUrl === null) return err(wrongHost)
        const now = clock.now()
        const secret = links.create(
          { accountId: caller.serviceAccountId, keyId: caller.keyId ?? null, sessionEndMs: expiryOf(bearer) },
          now,
        )
        const url = linkAddress(baseUrl, secret)
        const expire_time = new Date(now + LINK_LIFETIME_S * 1000).toISOString()
        const response: RouteResponse = { status: 201, body: { url, expire_time } }
        return ok(response)
      },
    },
  ]
}

async function openSession(
  { sessions, links, clock, ...deps }: ConsoleRouteDeps,
  context: RequestContext,
  { link, token = '' }: SignIn,
): Promise<Result<OpenedSession, ServiceError>> {
  // The browser forgets its cookie, so that no one can end that session later.
  const replaced = sessions.findByCookie(context.header('cookie'))
  if (link !== undefined) {
    const verified = links.verify(link, clock.now())
    const opened = verified === null ? null : await sessions.redeem(verified, replaced)
    if (opened !== null) return ok(opened)
    context.refuseCredentials({ kind: 'console-link', reason: 'the link is unknown, used or expired' })
    return err(usedLink)
  }
  const caller = await deps.authenticateServiceAccount(token)
  const keyId = caller?.keyId ?? null
  const opened =
    caller === null
      ? null
      : await sessions.open({ accountId: caller.serviceAccountId, keyId, sessionEndMs: expiryOf(token) }, replaced)
  if (opened !== null) return ok(opened)
  context.refuseCredentials(deps.refusedServiceAccount(token))
  return err(invalidToken)
}

/** A session ends with the token that opened it. The token is verified. */
function expiryOf(token: string): number | null {
  const { exp } = decodeJwt(token)
  return exp === undefined ? null : exp * 1000
}

function bodyOf({ version, accountName }: ConsoleRouteDeps, session: ConsoleSession | null): object {
  if (session === null) return { version, session: null }
  const { caller, csrfToken, expiresAtMs } = session
  return {
    version,
    session: {
      csrf_token: csrfToken,
      expire_time: new Date(expiresAtMs).toISOString(),
      organization_id: caller.organizationId,
      service_account_id: caller.serviceAccountId,
      display_name: accountName(caller.serviceAccountId),
      role: caller.role,
    },
  }
}

function bearerOf(context: RequestContext): string | null {
  return /^bearer +(\S+)/i.exec(context.header('authorization') ?? '')?.[1] ?? null
}

/** Null: the header `Host` has more than a host and a port, or does not name this service. */
function baseUrlOf(context: RequestContext, { isTls, isOwnHost }: ConsoleRouteDeps): string | null {
  const text = `${isTls ? 'https' : 'http'}://${context.header('host') ?? ''}`
  if (!URL.canParse(text)) return null
  const { href, origin, hostname } = new URL(text)
  return href === `${origin}/` && isOwnHost(hostname) ? origin : null
}
