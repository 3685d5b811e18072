// Stands for a task in the folder it is given, and says when it is elected; goes on until it is killed.
import { LeaderElection } from '../../../src/store/process/leader-election.ts'

new LeaderElection(process.argv[2]!).campaign('provisioning', () => process.stdout.write('elected\n'))
process.stdout.write('stands\n')
setInterval(() => {}, 1000)
