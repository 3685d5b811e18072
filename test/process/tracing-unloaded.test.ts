// The SDK of OpenTelemetry is evaluated only in a process that traces.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-tracing-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const root = join(import.meta.dirname, '..', '..')

/** Serves one decision, and returns the loaded modules that belong to tracing. */
async function loadedModules(settings: object): Promise<string[]> {
  const program = join(folder, 'program.ts')
  writeFileSync(
    program,
    `import { createApp } from ${JSON.stringify(join(root, 'src', 'app.ts'))}
import { defaultSettings } from ${JSON.stringify(join(root, 'src', 'settings.ts'))}
const settings = { ...defaultSettings, port: 0, dataDir: ${JSON.stringify(join(folder, 'data'))}, ...${JSON.stringify(settings)} }
const app = await createApp(settings, { log: () => undefined })
const { url } = await app.listen()
const answer = await fetch(new URL('/access/v1/evaluation', url), { method: 'POST', body: '{}' })
const names = Object.keys(require.cache).filter((name) => /opentelemetry|src\\/ops\\/tracing/.test(name))
console.log(JSON.stringify({ status: answer.status, names }))
await app.close()
process.exit(0)
`,
  )
  const child = Bun.spawn([process.execPath, program], { cwd: root, stdout: 'pipe', stderr: 'inherit' })
  const { status, names } = JSON.parse(await new Response(child.stdout).text())
  expect([await child.exited, status]).toEqual([0, 401])
  return names
}

it('without an endpoint neither the SDK nor the file that uses it is loaded', async () => {
  expect(await loadedModules({})).toEqual([])
  expect(await loadedModules({ otlpEndpoint: 'http://127.0.0.1:9' })).toEqual(
    expect.arrayContaining([
      expect.stringContaining('@opentelemetry/sdk-trace'),
      expect.stringContaining('@opentelemetry/exporter-trace-otlp-http'),
      expect.stringContaining('src/ops/tracing.ts'),
    ]),
  )
})
