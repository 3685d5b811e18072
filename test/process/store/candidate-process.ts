// A candidate of the leader election for one task on the given folder. Prints a line when it is elected; runs until it is killed.
import { LeaderElection } from '../../../src/store/process/leader-election.ts'

new LeaderElection(process.argv[2]!).campaign('provisioning', () => process.stdout.write('elected\n'))
process.stdout.write('stands\n')
setInterval(() => {}, 1000)
