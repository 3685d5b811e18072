// Tests of the commands of pages: all pages of a file share one service with the demo, each has a shell of its own.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demoLines } from '../../src/cli/serve/serve.ts'
import { freePorts } from '../support/counterparts/broker-process.ts'
import { startService, type TestService } from '../support/service.ts'
import type { Page } from './pages.ts'
import { isRunnable, runPage } from './run-page.ts'

const ADMIN_TOKEN_S = 3600
const SEAL_INTERVAL_MS = 300

/** True if a page starts the program or a runtime. A page that only sends requests does not. */
export const startsProcesses = ({ blocks }: Page): boolean =>
  blocks.some((block) => isRunnable(block) && (block.language === 'ts' || /^[^#]*\b(npx|serve) /m.test(block.text)))

/** Defines a test for each page that has commands. */
export function describePages(pages: readonly Page[]): void {
  let service: TestService
  let environment: Record<string, string>

  beforeAll(async () => {
    service = await startService(
      { upstreamAllow: '127.0.0.1/32' },
      {
        sync: false,
        log: () => {},
        eventDelivery: { random: () => 0.001 },
      },
    )
    const { app, dataDir, url } = service
    const lines = await demoLines(app, url)
    const printed = (name: string): string =>
      lines.find((line) => line.startsWith(`  export ${name}=`))?.split('=')[1] as string
    environment = {
      URL: url,
      KEY: printed('KEY'),
      PROJECT: printed('PROJECT'),
      ADMIN: await app.issueAdminToken(ADMIN_TOKEN_S),
      VERDIGRAPH_DATA: dataDir,
      VERDIGRAPH_PORT: new URL(url).port,
    }
  })

  // The service has no background process, which seals, scores and matches otherwise.
  let isSealing = true
  let sealing: Promise<void> | null = null
  beforeAll(() => {
    sealing = (async () => {
      while (isSealing) {
        await service.app.sealAudit()
        await service.app.scoreTrust()
        await service.app.matchEntities()
        await Bun.sleep(SEAL_INTERVAL_MS)
      }
    })()
  })
  afterAll(async () => {
    isSealing = false
    await sealing
    await service?.stop()
  })

  describe('the commands of', () => {
    test.concurrent.for(pages.filter(({ blocks }) => blocks.some(isRunnable)))('$path', async (page) => {
      const { differences, exitCode, log } = await runPage(page, {
        ...environment,
        PORT: String((await freePorts(1))[0]),
      })
      expect(differences, log).toEqual([])
      expect(exitCode, log).toBe(0)
    })
  })
}
