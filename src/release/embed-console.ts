// A plugin of Bun's bundler: replaces the module that builds the page of the console by one that contains the built files.
import type { BunPlugin } from 'bun'
import { loadPageFiles } from '../console/page-files.ts'

/**
 * Embeds the built page, for a program without its sources. Builds the page first: Bun's bundler does not finish a build that a
 * plugin of another one waits for.
 */
export async function embedConsole(): Promise<BunPlugin> {
  const { files, script, style } = await loadPageFiles()
  const entries = [...files].map(([name, { mediaType, gzipped }]) => [
    name,
    mediaType,
    Buffer.from(gzipped).toString('base64'),
  ])
  const contents = `const entries = ${JSON.stringify(entries)}
export const loadPageFiles = async () => ({
  files: new Map(entries.map(([name, mediaType, text]) => [name, { mediaType, gzipped: Uint8Array.fromBase64(text) }])),
  script: ${JSON.stringify(script)},
  style: ${JSON.stringify(style)},
  sources: [],
})`
  return {
    name: 'embed-console',
    setup(build) {
      build.onLoad({ filter: /[\\/]console[\\/]page-files\.ts$/ }, () => ({ contents, loader: 'js' }))
    },
  }
}
