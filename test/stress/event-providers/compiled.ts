// The drivers in an executable of one file, built like the product: packages that read files of their own at run time fail there.
import { join } from 'node:path'
import type { ProviderConfiguration } from '../../../src/events/connect-provider.ts'
import type { DeliveryOutcome } from '../../../src/events/providers/provider.ts'
import { embedKafkaWasm } from '../../../src/release/embed-kafka-wasm.ts'

/** Builds the executable once in `folder` and sends 20 events with it, far from the packages. */
export async function sendCompiled(
  folder: string,
  provider: ProviderConfiguration,
  authorities: string,
): Promise<DeliveryOutcome> {
  const outfile = join(folder, 'send-compiled')
  if (!(await Bun.file(outfile).exists())) {
    const built = await Bun.build({
      entrypoints: [join(import.meta.dirname, 'send-compiled.ts')],
      target: 'bun',
      minify: true,
      bytecode: true,
      format: 'esm',
      compile: { outfile },
      plugins: [embedKafkaWasm],
    })
    if (!built.success) throw new Error(built.logs.join('\n'))
  }
  const child = Bun.spawn([outfile, JSON.stringify({ provider, authorities })], {
    cwd: '/',
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: 60_000,
  })
  const [output, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(faults.slice(-2000))
  return JSON.parse(output)
}
