"""The canned web: invented pages on a dozen subjects. Every address ends in `.example`, which leads nowhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CannedPage:
    """One page as the search knows it."""

    url: str
    title: str
    text: str
    topic: str = "general"
    """`general`, `news` or `finance`."""
    age_days: int = 400
    """How long ago it was published."""


PAGES: tuple[CannedPage, ...] = (
    CannedPage(
        "https://weather.example/paris",
        "Weather in Paris: today and tomorrow",
        "Paris, France: today light rain in the morning, then sun; 18 °C at noon, wind from the west at 14 km/h. "
        "Tonight clear, 11 °C. The forecast for tomorrow is dry with 21 °C. The chance of rain at the weekend is 30 %.",
        age_days=0,
    ),
    CannedPage(
        "https://tianqi.example/paris",
        "巴黎天气预报",
        "巴黎今天上午有小雨，下午转晴，最高气温18度，西风三级。夜间晴，最低11度。明天天气干燥，最高21度，"
        "适合出门散步。",
        age_days=0,
    ),
    CannedPage(
        "https://tianqi.example/beijing",
        "北京天气预报：今天和明天",
        "北京今天晴，最高气温26度，最低14度，北风二级，空气质量良好。明天天气多云，气温略降，周末可能有阵雨。",
        age_days=0,
    ),
    CannedPage(
        "https://weather.example/tokyo",
        "Weather in Tokyo today",
        "Tokyo, Japan: today cloudy with 23 °C and a light breeze from the bay. Rain is expected tomorrow afternoon. "
        "The humidity is 64 %, and the air quality is good.",
        age_days=0,
    ),
    CannedPage(
        "https://energy.example/solar-record",
        "Solar power grows faster than any other source",
        "Solar farms added more capacity last year than all other sources of electricity together, an energy agency "
        "reports. Panels have become cheaper for the tenth year in a row. The agency expects solar power to become the "
        "largest source of electricity within a decade. Grids, it warns, have to grow with it.",
        "news",
        2,
    ),
    CannedPage(
        "https://energy.example/batteries",
        "Batteries follow the sun: storage beside every new solar farm",
        "New solar farms are rarely built without batteries now. Storage keeps the power of noon for the evening, when "
        "it is worth the most. Engineers say that four hours of storage are enough for most nights.",
        "news",
        9,
    ),
    CannedPage(
        "https://nengyuan.example/taiyangneng",
        "太阳能发电最新消息：新增装机再创纪录",
        "据能源机构报告，去年太阳能新增装机超过其他所有电源之和，组件价格连续第十年下降。专家提醒，"
        "电网建设需要跟上太阳能发电的速度。",
        "news",
        3,
    ),
    CannedPage(
        "https://cars.example/electric-range",
        "How far electric cars really drive",
        "In a test of twelve electric cars the range in winter was on average 23 % below the printed figure, and in "
        "summer 6 % below. Driving at 120 instead of 100 km/h costs about a fifth of the range. Charging from 10 to "
        "80 % took between 18 and 41 minutes.",
        age_days=40,
    ),
    CannedPage(
        "https://qiche.example/diandongche",
        "电动汽车冬季续航测试",
        "在十二款电动汽车的测试中，冬季续航比标称值平均低百分之二十三，夏季低百分之六。"
        "时速从一百公里提高到一百二十公里，续航大约减少五分之一。",
        age_days=45,
    ),
    CannedPage(
        "https://code.example/python-asyncio",
        "Python asyncio: tasks, groups and timeouts",
        "In Python a TaskGroup starts several tasks and waits for all of them; when one fails, the others are "
        "cancelled. asyncio.timeout limits how long a block may take. A task that nobody awaits may be collected "
        "before it ends, so keep a reference to it. Locks and events belong to one event loop.",
        age_days=120,
    ),
    CannedPage(
        "https://code.example/sqlite-wal",
        "SQLite: what write-ahead logging gives you",
        "With write-ahead logging a SQLite database has many readers beside one writer. A commit appends to the log "
        "and is copied into the database later, at a checkpoint. synchronous=FULL makes a commit survive a power cut. "
        "Writers should be short, because there is only one at a time.",
        age_days=300,
    ),
    CannedPage(
        "https://space.example/moon-station",
        "A station around the Moon: what is planned",
        "Engineers plan a small station in orbit around the Moon, as a harbour between Earth and the surface. It is to "
        "be visited by four people for a month each year. The first module is being tested; a launch date is not "
        "fixed.",
        "news",
        12,
    ),
    CannedPage(
        "https://space.example/mars-rover",
        "The rover on Mars finds old river stones",
        "A rover on Mars has photographed round stones that were carried by water. They lie in a dry delta which is "
        "more than three billion years old. Samples are kept in tubes, for a later mission to bring to Earth.",
        "news",
        25,
    ),
    CannedPage(
        "https://sport.example/final",
        "Football: the final is decided in extra time",
        "The cup final was won 2 to 1 in extra time, after a late equaliser. The winning goal was a header from a "
        "corner in minute 112. The coach praised the patience of the team; 61,000 people saw the football match.",
        "news",
        1,
    ),
    CannedPage(
        "https://tiyu.example/juesai",
        "足球新闻：决赛加时分出胜负",
        "杯赛决赛经过加时以二比一结束，第一百一十二分钟的头球决定了比赛。主教练称赞球队很有耐心，"
        "现场有六万一千名球迷。",
        "news",
        1,
    ),
    CannedPage(
        "https://markets.example/stocks-today",
        "Stock markets close a little higher",
        "Stocks closed 0.4 % higher today, led by makers of machines and by banks. Trading was calm. The price of gold "
        "was unchanged, oil fell by 1.1 %. Analysts wait for the figures on inflation at the end of the week.",
        "finance",
        0,
    ),
    CannedPage(
        "https://markets.example/interest-rates",
        "Central bank keeps interest rates where they are",
        "The central bank left its interest rate unchanged, as expected. Inflation has come down to 2.3 %, and the "
        "bank wants to see it stay there for some months. Most economists expect the next step in spring.",
        "finance",
        6,
    ),
    CannedPage(
        "https://caijing.example/gushi",
        "今日股市：小幅收高",
        "今日股市小幅收高百分之零点四，机械和银行股领涨，成交平稳。黄金价格持平，油价下跌百分之一点一。"
        "分析师等待周末公布的通胀数据。",
        "finance",
        0,
    ),
    CannedPage(
        "https://bridges.example/suspension",
        "How suspension bridges carry their load",
        "A suspension bridge hangs its deck from cables that run over two towers into heavy anchors. The cables only "
        "pull, the towers only press, and so both can be slender. Wind is the worst enemy: decks are shaped like wings "
        "turned upside down. The longest span of a bridge today is a little over two kilometres.",
    ),
    CannedPage(
        "https://changcheng.example/lishi",
        "长城的历史与长度",
        "长城始建于两千多年以前，历代不断修建，现存的大部分是明代长城。各时代的长城总长度超过两万公里，穿过山地、",
    ),
    CannedPage(
        "https://kitchen.example/sourdough",
        "Sourdough bread, step by step",
        "For one loaf of bread: 500 g flour, 350 g water, 100 g sourdough starter and 10 g salt. Mix, fold four times "
        "in two hours, let it rest overnight in the cold, and bake it at 240 °C: 20 minutes covered, 25 minutes open.",
    ),
    CannedPage(
        "https://cha.example/lvcha",
        "绿茶怎么泡：水温和时间",
        "泡绿茶的水温以八十度左右为宜，每杯放三克茶叶，浸泡两分钟。水太烫会使茶汤发苦。第二泡时间稍长，味道更柔和。",
    ),
    CannedPage(
        "https://health.example/coffee",
        "Coffee and sleep: how late is too late?",
        "Caffeine needs five to six hours to fall by half. In a study people who drank coffee six hours before going "
        "to bed slept 41 minutes less. Up to four cups a day are considered safe for healthy adults.",
        age_days=200,
    ),
    CannedPage(
        "https://earth.example/volcano",
        "Volcano in Iceland: lava reaches the sea",
        "The volcano that began to erupt in spring has sent lava to the coast. Nobody is in danger; the road along the "
        "shore is closed. Scientists measure the gas every hour and expect the eruption to go on for weeks.",
        "news",
        4,
    ),
    CannedPage(
        "https://models.example/small-language-models",
        "Small language models catch up",
        "Language models with a few billion parameters now solve tasks that needed fifty times as many two years ago. "
        "They run on a laptop, and many of them can call tools. Their weak side remains long reasoning, and knowing "
        "when they do not know. AI researchers credit better data rather than more of it.",
        "news",
        5,
    ),
    CannedPage(
        "https://rengongzhineng.example/xiaomoxing",
        "人工智能新闻：小模型追上来了",
        "几十亿参数的语言模型如今能完成两年前需要五十倍参数才能完成的任务，可以在笔记本电脑上运行，多数还能调用工具。"
        "研究者认为，进步主要来自更好的数据。",
        "news",
        5,
    ),
)

LAST_RESORT = CannedPage(
    "https://playground.example/nothing-found",
    "The playground's search knows no page about this",
    "This search is canned: it knows two dozen invented pages about weather, energy, cars, programming, space, sport, "
    "markets, bridges, food, health and language models. "
    "演示用的搜索只认识这些主题：天气、太阳能、电动汽车、足球、股市、"
    "长城、绿茶、人工智能。Set TAVILY_API_KEY to search the real web.",
)
"""What a search finds that finds nothing else; plainly says so."""
