// The commands of the documentation pages that start the program.
import { describePages, startsProcesses } from '../docs/describe-pages.ts'
import { readPages } from '../docs/pages.ts'

describePages(
  readPages()
    .filter(({ path }) => path === 'README.md' || path.startsWith('docs/'))
    .filter(startsProcesses),
)
