// A candidate of the leader election for one task on the given folder. Prints a line when it is elected; runs until it is killed.
import { CommitWaiter } from '../../../src/store/process/commit-waiter.ts'
import { LeaderElection } from '../../../src/store/process/leader-election.ts'

const folder = process.argv[2]!
new LeaderElection(folder, new CommitWaiter(folder)).campaign('provisioning', () => process.stdout.write('elected\n'))
process.stdout.write('stands\n')
setInterval(() => {}, 1000)
