// The commands of those pages of the documentation that start the program.
import { describePages, startsProcesses } from '../docs/describe-pages.ts'
import { readPages } from '../docs/pages.ts'

describePages(
  readPages()
    .filter(({ path }) => path === 'README.md' || path.startsWith('docs/'))
    .filter(startsProcesses),
)
