export { PendingScreen as RunnersScreen } from '../pending/PendingScreen.js'
