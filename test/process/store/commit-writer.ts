// Counts a commit on the given folder for each line that it reads, after a random pause: then the waiters are in any state.
import { GRAPHS_COMMIT_FILE } from '../../../src/kernel/folder/data-folder.ts'
import { openCommitCounter } from '../../../src/store/process/commit-counter.ts'
import { Random } from '../../generate/random.ts'

const [folder, seed] = process.argv.slice(2)
const random = new Random(Number(seed))
const counter = openCommitCounter(folder!, GRAPHS_COMMIT_FILE)
for await (const _ of console) {
  await Bun.sleep(random.between(0, 60))
  counter.increment()
}
