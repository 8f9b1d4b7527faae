export { PendingScreen as OverviewScreen } from '../pending/PendingScreen.js'
