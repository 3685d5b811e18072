// A plugin of Bun's bundler: replaces the module that reads the folder `docs/` by one that contains its texts.
import type { BunPlugin } from 'bun'
import { readDocumentation } from '../http/docs/files.ts'

/** Embeds the documentation, for a program without the folder. */
export const embedDocumentation: BunPlugin = {
  name: 'embed-documentation',
  setup(build) {
    build.onLoad({ filter: /[\\/]http[\\/]docs[\\/]files\.ts$/ }, () => ({
      contents: `export const readDocumentation = () => (${JSON.stringify(readDocumentation())})`,
      loader: 'js',
    }))
  },
}
