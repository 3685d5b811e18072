// Counts a commit on the given folder for each line that it reads, and prints when.
import { CommitCount } from '../../src/store/process/commit-counter.ts'

const commits = new CommitCount(process.argv[2]!)
for await (const _ of console) {
  const nowMs = performance.timeOrigin + performance.now()
  commits.increment()
  process.stdout.write(`${nowMs}\n`)
}
