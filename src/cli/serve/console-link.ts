// The command `console-link`: prints a one-time link to sign in to the console, made from the data folder or by a running service.
import { join } from 'node:path'
import { ConfigRepository } from '../../config/repository.ts'
import { isConsoleOn } from '../../console/access.ts'
import { LINK_LIFETIME_S, linkAddress, SignInLinks } from '../../console/sign-in-link.ts'
import { findAdmin } from '../../identity/bootstrap.ts'
import { readMasterKeys } from '../../identity/folder-keys.ts'
import { CONFIGURATION_FOLDER } from '../../kernel/folder/data-folder.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import type { Settings } from '../../settings.ts'
import { openCollections } from '../../store/documents/collections.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../store/lmdb/open-lock.ts'
import { recordOperation } from '../folder/record-operation.ts'
import { CliError } from '../output/cli-error.ts'
import { printJson, printLine } from '../output/print.ts'
import { addressOf, ServiceClient, ServiceRefusalError } from '../target/service-client.ts'

/**
 * Prints a link. `url`: of the service that makes it, for the account of the token; null: the data folder makes it, for its admin
 * account. Rejects with CliError if the console is off.
 */
export async function printConsoleLink(settings: Settings, url: string | null, json: boolean): Promise<void> {
  const link = url === null ? await linkOfFolder(settings) : await linkOfService(settings, url)
  if (json) {
    printJson({ url: link, lifetime_s: LINK_LIFETIME_S })
    return
  }
  printLine(link)
  printLine('The link works once, within two minutes.')
}

/** Only reads the folder, which may be served: the service accepts the link, because it has the same master key. */
async function linkOfFolder(settings: Settings): Promise<string> {
  const { dataDir, publicUrl } = settings
  if (!isConsoleOn(settings))
    throw new CliError(['the console is off with these settings; VERDIGRAPH_CONSOLE=on switches it on'])
  const collections = openCollections(join(dataDir, CONFIGURATION_FOLDER), {
    readOnly: true,
    lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS,
  })
  let accountId: string
  try {
    accountId = findAdmin(new ConfigRepository(collections)).serviceAccountId
  } finally {
    await collections.close()
  }
  const links = new SignInLinks(readMasterKeys(dataDir, false).current)
  const secret = links.create({ accountId, keyId: null, sessionEndMs: null }, systemClock.now())
  const members = { outcome: 'ok', subject: accountId, lifetimeS: LINK_LIFETIME_S }
  await recordOperation(settings, 'svc.audit.operations.token.issue', members)
  return linkAddress(publicUrl === '' ? addressOf(settings) : publicUrl, secret)
}

async function linkOfService(settings: Settings, url: string): Promise<string> {
  try {
    const answer = await new ServiceClient(settings, url).request('POST', '/console/v1/links')
    return (answer as { readonly url: string }).url
  } catch (failure) {
    if (!(failure instanceof ServiceRefusalError && failure.status === 404)) throw failure
    throw new CliError([`${url} has no console; VERDIGRAPH_CONSOLE=on switches it on`])
  }
}
