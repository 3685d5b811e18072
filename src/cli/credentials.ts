// `init` and `token`: the first organization with its admin account, and further tokens of that account.
import { existsSync, readdirSync } from 'node:fs'
import { type App, createApp } from '../app.ts'
import type { Settings } from '../settings.ts'
import { CliError } from './cli-error.ts'

/** The longest that a service-account token may live (ruling F5). */
export const TOKEN_LIFETIME_S = 86_400

export async function initialise(settings: Settings, json: boolean): Promise<void> {
  await withApp(settings, async (app) => {
    if (!app.bootstrapped) {
      throw new CliError([
        `${settings.dataDir} holds an organization already; \`verdigraph token --data ${settings.dataDir}\` makes another token`,
      ])
    }
    await printToken(app, json, TOKEN_LIFETIME_S)
  })
}

export async function issueToken(settings: Settings, json: boolean, lifetimeS: number): Promise<void> {
  const { dataDir } = settings
  if (!existsSync(dataDir) || readdirSync(dataDir).length === 0) {
    throw new CliError([`${dataDir} holds no organization yet; \`verdigraph init --data ${dataDir}\` makes one`])
  }
  await withApp(settings, (app) => printToken(app, json, lifetimeS))
}

async function withApp(settings: Settings, use: (app: App) => Promise<void>): Promise<void> {
  const app = await createApp(settings)
  try {
    await use(app)
  } finally {
    await app.close()
  }
}

async function printToken(app: App, json: boolean, lifetimeS: number): Promise<void> {
  const token = await app.issueAdminToken(lifetimeS)
  const { organizationId, serviceAccountId } = app
  if (json) {
    console.log(JSON.stringify({ organization_id: organizationId, service_account_id: serviceAccountId, token }))
    return
  }
  for (const line of tokenLines(organizationId, serviceAccountId, token, lifetimeS)) console.log(line)
}

export function tokenLines(
  organizationId: string,
  serviceAccountId: string,
  token: string,
  lifetimeS: number,
): readonly string[] {
  const until = new Date(Date.now() + lifetimeS * 1000).toISOString()
  return [
    `organization     ${organizationId}`,
    `service account  ${serviceAccountId}`,
    `token            ${token}`,
    `                 valid until ${until}, shown this once; \`verdigraph token\` makes another`,
  ]
}
