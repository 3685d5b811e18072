// A plugin of Bun's bundler: the Kafka client reads a WebAssembly file next to its module; another entry of the same package contains
// the bytes.
import { createRequire } from 'node:module'
import type { BunPlugin } from 'bun'

/** Embeds the WebAssembly of the Kafka client, for a program without the folder of its package. */
export const embedKafkaWasm: BunPlugin = {
  name: 'embed-kafka-wasm',
  setup(build) {
    build.onResolve({ filter: /^@platformatic\/wasm-utils$/ }, ({ importer }) => ({
      path: createRequire(importer).resolve('@platformatic/wasm-utils/bundled'),
    }))
  },
}
