// Builds the console: its sessions, and its routes.
import { isConsoleOn } from '../console/access.ts'
import { isOwnHost } from '../console/own-host.ts'
import { loadPageFiles } from '../console/page-files.ts'
import { consoleRoutes } from '../console/routes.ts'
import { SessionCookie } from '../console/session-cookie.ts'
import { ConsoleSessions } from '../console/sessions.ts'
import { linkAddress, SignInLinks } from '../console/sign-in-link.ts'
import type { Route } from '../http/route.ts'
import { serviceAccountsKind } from '../identity/service-account.ts'
import type { Platform } from './open-store.ts'

/** The console of a process. */
export interface Console {
  readonly sessions: ConsoleSessions
  readonly routes: readonly Route[]
  /** The address of a new one-time link for an account. */
  linkFor(accountId: string, baseUrl: string): string
}

/** Creates the console; null: it is off. */
export function createConsole(platform: Platform): Console | null {
  const {
    process: { settings, clock, version },
    configuration: { documents, masterKey, serviceAccounts, organizationId },
  } = platform
  if (!isConsoleOn(settings)) return null
  const { publicUrl } = settings
  const isTls = settings.tlsCertificate !== ''
  const cookie = new SessionCookie(organizationId, isTls || publicUrl.startsWith('https:'))
  const sessions = new ConsoleSessions({ documents, clock, cookie, publicUrl })
  const links = new SignInLinks(masterKey)
  const routes = consoleRoutes({
    sessions,
    links,
    cookie,
    clock,
    version,
    publicUrl,
    isTls,
    isOwnHost: (name) => isOwnHost(name, settings),
    loadPage: loadPageFiles,
    authenticateServiceAccount: (bearer) => serviceAccounts.authenticateServiceAccount(bearer),
    refusedServiceAccount: (bearer) => serviceAccounts.refusedServiceAccount(bearer),
    accountName(id) {
      const account = documents.get(serviceAccountsKind, id)
      return String(account?.fields.display_name ?? account?.name ?? '')
    },
  })
  return {
    sessions,
    routes,
    linkFor: (accountId, baseUrl) =>
      linkAddress(
        publicUrl === '' ? baseUrl : publicUrl,
        links.create({ accountId, keyId: null, sessionEndMs: null }, clock.now()),
      ),
  }
}
