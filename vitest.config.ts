import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'threads',
    // The default leaves one core to the rest of the machine: on two cores that is half of them.
    maxWorkers: 2,
    // The files of a worker share what they import: to read and to warm it up for each was a third of the time. No test
    // changes what it imports, and any order of the files is right (`npm test -- --sequence.shuffle.files`).
    isolate: false,
    setupFiles: ['test/support/each-file.ts'],
    // For what hangs: nothing takes a tenth of it, and a busy machine is no failure.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
})
