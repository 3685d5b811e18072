// The commands `init` and `token`: create the first organization with its admin account, and issue tokens of that
// account.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { type AdminToken, issueAdminToken } from '../../app/configuration.ts'
import type { Settings } from '../../settings.ts'
import { recordOperation } from '../folder/record-operation.ts'
import { CliError } from '../output/cli-error.ts'
import { printJson, printLine } from '../output/print.ts'
import { ownCommand } from '../settings/own-command.ts'

/** Lifetime of the tokens that `init` and `serve` print, seconds: the longest allowed. */
export const TOKEN_LIFETIME_S = 86_400

/** Runs `init`. Rejects with CliError if the folder already has an organization. */
export async function initialise(settings: Settings, json: boolean): Promise<void> {
  const { createApp } = await import('../../app.ts')
  const app = await createApp(settings)
  try {
    if (!app.bootstrapped) {
      throw new CliError([
        `${settings.dataDir} already has an organization; \`${ownCommand(['token', '--data', settings.dataDir])}\` issues another token`,
      ])
    }
    const token = await app.issueAdminToken(TOKEN_LIFETIME_S)
    const { organizationId, serviceAccountId } = app
    await app.recordOperation('svc.audit.operations.token.issue', issuedToken(serviceAccountId, TOKEN_LIFETIME_S))
    printToken({ organizationId, serviceAccountId, token }, settings, json, TOKEN_LIFETIME_S)
  } finally {
    await app.close()
  }
}

/** Runs `token`. `lifetimeS`: seconds. Rejects with CliError if the folder has no organization. */
export async function issueToken(settings: Settings, json: boolean, lifetimeS: number): Promise<void> {
  const { dataDir } = settings
  if (!existsSync(dataDir) || (statSync(dataDir).isDirectory() && readdirSync(dataDir).length === 0)) {
    throw new CliError([`${dataDir} has no organization; \`${ownCommand(['init', '--data', dataDir])}\` creates one`])
  }
  const issued = await issueAdminToken(settings, lifetimeS)
  await recordOperation(settings, 'svc.audit.operations.token.issue', issuedToken(issued.serviceAccountId, lifetimeS))
  printToken(issued, settings, json, lifetimeS)
}

/** Members of the event of an issued token. */
export function issuedToken(subject: string, lifetimeS: number): object {
  return { outcome: 'ok', subject, lifetimeS }
}

function printToken(issued: AdminToken, settings: Settings, json: boolean, lifetimeS: number): void {
  if (json) {
    const { organizationId, serviceAccountId, token } = issued
    printJson({ organization_id: organizationId, service_account_id: serviceAccountId, token })
    return
  }
  for (const line of tokenLines(issued, settings, lifetimeS)) printLine(line)
}

/** The lines that show a new token. */
export function tokenLines(
  { organizationId, serviceAccountId, token }: AdminToken,
  { dataDir }: Pick<Settings, 'dataDir'>,
  lifetimeS: number,
): readonly string[] {
  const until = new Date(Date.now() + lifetimeS * 1000).toISOString()
  return [
    `organization     ${organizationId}`,
    `service account  ${serviceAccountId}`,
    `token            ${token}`,
    `                 valid until ${until}, shown only once; \`${ownCommand(['token', '--data', dataDir])}\` issues another`,
  ]
}
