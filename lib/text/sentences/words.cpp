// The tables; see words.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentences/words.h"

#include <algorithm>
#include <iterator>

namespace xf {
namespace {

// clang-format off
struct Language {
    std::string_view code;
    std::string_view always, before_number, usually, starters;  // sorted words, separated by spaces
};

// The last row is for all other languages.
constexpr Language kLanguages[] = {
    {"en",
     "Adm Brig Capt Cdr Chas Cmdr Col Cpl Cpt Dr Drs Fr Ft Gen Geo Gov Hon Jos Lt Maj Messrs Mlle Mme Mr Mrs Ms Mt Mts "
     "Ph Pres Prof Profs Pvt Rep Reps Rev Revd Sen Sens Sgt St Ste Sts Supt Th Thos Wm a.k.a approx ca cf e.g eg esp "
     "i.e incl resp v viz vs w.r.t",
     "Apr Art Aug Ch Chs Dec Eq Eqs Ex Feb Fig Figs Jan Jul Jun Mar No Nos Nov Nr Oct Op Pt Ref Refs Sat Sec Secs Sep "
     "Sept Sun Tab Ver Vol Vols art c ch chap ed eds fig figs no op p par para pp sec sect ver vol vols",
     "A.M Apt Ariz Assn Ave B.A Blvd Bros Calif Co Conn Corp Cos D.C Dept Esq Fla Fri Hwy Ill Inc Jr Ln Ltd M.A M.D "
     "Mass Md Mfg Mich Minn Mon P.M Pa Ph.D Pl Rd Sq Sr Tel Tex Thu Thur Thurs Tue Tues U.K U.N U.S U.S.A Univ Va Wash "
     "Wed a.m al am dept est et.al ext ff ft hr hrs lb lbs max min misc oz p.m pm tel",
     "A After All Also Although An And Another Are As At Because Before But By Can Click Did Do Does Each Every First "
     "For From Good Has Have He Her Here His How However I If In Is It Its Let Like Many Maybe More Most My Next No "
     "Not Now Of On Once One Only Or Other Our Please She Since So Some Such That The Their Then There These They This "
     "Those Thus To Today Under Until We Well Were What When Where Which While Who Why Will With Without Yes Yet You "
     "Your"},
    {"de",
     "Abt Allg Anm Aufl Bearb Betr Bez Bspw Bzgl Ca D.h Dipl Dr Drs Evtl Ew Fr Frl Gebr Gem Ges Ggf H.c Hl Hr Hrn Hrsg "
     "I.d.R Ing Inkl Kr Lt Mag Mio Mrd Nachf Prof Reg Sr St Tsd U.a Univ V.a Verf Vgl Z.B Zit a.M abzgl allg ausschl "
     "beispielsw bes betr bspw bzgl bzw ca d.h d.i e.g einschl einschließl entspr evtl exkl geb gegr gem gest ggf ggfs "
     "h.c hrsg i.A i.Br i.V i.d.R i.e i.e.S i.w.S inkl insb insbes jew jur jährl lt med mtl nachm nat o.g oec phil pol "
     "publ rer s.o s.u sog sogen techn theol tägl u.U u.a u.s.f urspr v.a verh versch verw vgl vorm vs wiss z z.B z.T "
     "z.Zt z.b zit zw zzgl Übers übers",
     "Abb Abs Anh Anl Apr Art Aug Bd Bde Buchst Dez Di Do Feb Fig H Jan Jg Jul Jun Kap Lfg Lit Mi Mo Mrz Nov Nr Nrn "
     "Okt Rdnr Rn S Sa Sep Sept Ser So Sp Tab V Ver Z Ziff lit",
     "Chr Co Corp Fa Inc Jh Jhd Jhdt Jhs Jht Jr Ltd Max Min MwSt Pl Sek Std Str Tel dgl e.V etc f ff h jun k.u.k max "
     "min mind n.Chr n.u.Z o.Ä o.ä sen str u.dgl u.Ä u.ä usf usw v.Chr v.u.Z",
     "Aber Alle Allerdings Als Also Am An Auch Auf Aus Außerdem Bei Beim Bitte Da Dabei Dadurch Dafür Daher Damals "
     "Damit Danach Dann Darum Das Dass Dazu Dem Den Denn Dennoch Der Des Deshalb Die Dies Diese Dieser Dieses Doch "
     "Dort Du Durch Ebenso Ein Eine Einem Einen Einer Eines Einige Er Erst Es Falls Für Geben Gegen Hat Hier Hierbei "
     "Hierzu Ich Ihr Ihre Im Immer In Ins Insgesamt Ist Ja Jede Jeder Jedes Jedoch Jetzt Kein Keine Klicken Können Man "
     "Manche Mehr Mein Meine Mit Nach Nachdem Neben Nein Nicht Nichts Noch Nun Nur Ob Obwohl Oder Ohne Sehr Sein Seine "
     "Seit Seitdem Sie Sind So Sobald Sogar Solange Sollte Sollten Sondern Sonst Später Um Und Uns Unser Unter Viele "
     "Vom Von Vor War Waren Warum Was Weil Weitere Wenn Wer Werden Wie Wieder Wir Wird Wo Während Zu Zudem Zum Zur "
     "Zwar Zwischen Über Üblicherweise"},
    {"fr",
     "Bd Cf Dr Drs M MM Mgr Mlle Mlles Mm Mme Mmes Pr Prof Réf St Ste Stes Sts Tel Tél Vve adj adv alt app appt arr "
     "auj av bd bld boul c.-à-d ca cf dir dép e.g env fg i.e ill impr inf intr obs ouvr p.ex par.ex pl prof qqf rte "
     "réf sc sing sup suppl trad tél vs vx Éd éd éds",
     "Art Chap Fig No N° P Sect T Tab Vol al alin art avr ch chap coll déc fig févr janv juil n no nos nov n° oct p pp "
     "sect sept t tabl vol §",
     "Cie Co Corp Inc J.-C Jr Ltd Me R.A.T.P S.A S.A.R.L S.N.C.F U.S.A apr.J.-C av.J.-C ex h hab jr max min mod mus nb "
     "op ord sec sqq ss suiv temp",
     "Afin Ainsi Alors Après Au Aucun Aucune Aujourd Aussi Autre Aux Avant Avec Bien C Car Ce Ceci Cela Celle Celui "
     "Cependant Ces Cet Cette Ceux Chaque Comme Comment D Dans De Depuis Des Donc Du Dès Elle Elles En Enfin Ensuite "
     "Est Et Il Ils J Je L La Le Les Leur Leurs Lors Lorsque Mais Mon Même N Ne Non Nous On Or Ou Oui Où Par Parce "
     "Pendant Plus Plusieurs Pour Pourquoi Puis Qu Quand Que Quel Quelle Quelques Qui Quoi S Sa Sans Selon Sera Ses "
     "Seul Si Son Sous Sur Tous Tout Toute Toutefois Toutes Très Tu Un Une Veuillez Voici Voilà Vos Votre Vous Y À"},
    {"es",
     "Arq Av Avd Avda Cap Cfr Cnel D Dn Dr Dra Dras Dres Dª Dña EE Excma Excmo Fr Gral Hno Hnos Ilma Ilmo Ing Lic "
     "Licda Mons Mtro Ntra P.ej Prof Profa Rvdo Sr Sra Sras Sres Srta Srtas Sta Sto Sñr Tel Tte Ud Uds Vd Vds Vid "
     "admón aprox cf cfr dcha depto e.g ej esq gob i.e izq p.ej prov teléf vid vs",
     "Art Fig N No Núm Pág Vol abr ago art arts c cap caps dic ed ene feb fig figs jul jun lám mar may n no nov nº núm "
     "núms oct p pp pág págs sep sept t tít vol vols",
     "Cía E.U.A EE.UU EEUU FF Inc JJ Jr Ltd RR S.A S.L S.R.L UU a.C a.J.C a.m al ca d.C d.J.C h jr min máx mín p.m tel",
     "A Además Ahora Al Algunos Ante Antes Aquel Aquí Así Aunque Cada Como Con Cuando Cuál Cómo De Debe Del Desde "
     "Después Donde Durante El Ella Ellas Ellos En Entonces Era Es Esa Ese Eso Esta Estaba Estas Este Esto Estos Está "
     "Están Fue Ha Hasta Hay La Las Le Lo Los Luego Mi Mientras Muchos Más Ni No Nos Nosotros O Otra Otro Para Pero "
     "Por Porque Que Quién Qué Se Según Ser Si Sin Sino Sobre Son Su Sus Sí También Tanto Tiene Todo Todos Tras Tu Tú "
     "Un Una Unos Usted Y Ya Yo Él"},
    {"it",
     "Arch Avv C.so Cap Cav Cfr Col Comm Don Dott Dott.ssa Dr Egr Gen Gent Geom Ill Ing Mons On P.es P.za P.zza Prof "
     "Prof.ssa Rag Rev S SS Sen Sig Sig.na Sig.ra Sigg Spett Ss Tel V.le ad.es arch avv c.so ca cav cf cfr dott "
     "dott.ssa dr e.g egr es gent geom i.e ing mons p.es p.za p.zza prof prof.ssa proff rag rev s sec sig sig.na sig.ra "
     "sigg spett tel v v.le",
     "Art Fig N Pag Vol ago apr art artt capp dic ed feb fig figg giu lug mag mar n nn no nov nr ott p pag pagg par pp "
     "set sett sez tab tav vol voll",
     "Co Inc Jr Ltd S.p.A S.r.l U.S.A a.C a.m al cap col comm d.C don gen h ill jr max min op p.m s.p.a s.r.l sen vs",
     "A Ad Ai Al Alcuni Alla Alle Allora Anche Ancora Appena Che Chi Ci Come Con Cosa Così Da Dal Dalla Dei Del Della "
     "Delle Di Dopo Dove Durante E Ed Era Fu Gli Ha I Il In Infine Inoltre Io L La Le Lei Lo Loro Lui Ma Mentre Mi "
     "Molti Nei Nel Nella Nelle No Noi Non O Oggi Ogni Per Perché Però Più Poi Prima Quale Quali Quando Quanto Quella "
     "Quelle Quelli Quello Questa Queste Questi Questo Qui Quindi Se Secondo Sempre Senza Si Sia Solo Sono Sotto Su "
     "Sua Sui Sulla Suo Sì Tra Tu Tutti Tutto Un Una Uno Voi È"},
    {"pt",
     "Al Alm Arq Av Cap Cel Cf D Dep Dr Dr.ª Dra Dras Drs Eng Engª Est Ex Exma Exmo Fr Gen Gov Ilma Ilmo Lg Min Obs "
     "P.ex Pe Prof Prof.ª Profa Profs Pç Pça Rev Revmo Sen Sgt Sr Sr.ª Sra Sras Sres Srs Srta Sta Sto Tel Ten Trav "
     "V.Ex V.S aprox ca cf e.g i.e máx mín obs p.ex séc vs",
     "Art Fig N Pág Vol abr ago art arts cap caps dez ed fev fig figs inc jan jul jun mai mar n n.º no nos nov nº núm "
     "out p par pp pág págs set t vol vols",
     "Cia Co E.U.A EUA Inc Jr Ltd Ltda R S.A a.C a.m al d.C ex h jr min p.m tel",
     "A Algumas Alguns Além Antes Ao Aos Apesar Após Aqui As Assim Até Cada Com Como Contudo Da Das De Depois Desde Do "
     "Dos Durante E Ela Elas Ele Eles Em Embora Enquanto Entretanto Então Era Essa Esse Esta Este Está Eu Foi Há Isso "
     "Isto Já Logo Mais Mas Mesmo Meu Minha Muito Muitos Na Nas Nem Nessa Nesse Nesta Neste No Nos Nossa Nosso Não Nós "
     "O Onde Os Ou Outra Outro Para Pela Pelo Por Porque Porém Quais Qual Quando Quanto Quantos Que Quem Se Segundo "
     "Sem Seu Seus Sim Sob Sobre Sua Suas São Só Tal Também Tem Todas Todos Tudo Um Uma Umas Uns Você Vocês À Às É"},
    {"nl",
     "Bijv Bv Ca D.w.z Dhr Dr Drs Ds Evt Ing Ir Jhr M.a.w Mej Mevr Mr Mw O.a Prof St Tel Vgl Zgn a.u.b bijv bv ca cf "
     "d.w.z dhr dr drs ds e.g evt excl geb get i.e i.p.v i.v.m incl ing ir jhr m.a.w m.b.t m.b.v m.n mej mevr mr mw "
     "n.a.v nl o.a o.m plm prof resp s.v.p t.a.v t.o.v t.w vgl vs z.g zgn",
     "Afb Art Blz Fig Hfst No Nr Vol afb apr art aug blz dec di dl do feb fig hfst hst jan jul jun ma mrt no nov nr "
     "nrs okt p pag par pp sep sept vol vr wo za zo",
     "B.V Co Inc Jr Ltd N.V Sr al e.a e.d ff gem gen h jr max min n.C n.Chr ong sr st str tel u v.C v.Chr",
     "Aan Al Alle Alleen Als Bij Daar Daarna Daarom Dan Dat De Deze Die Dit Doch Door Dus Echter Een En Er Geen Haar "
     "Heeft Het Hier Hij Hoe Hun Iedere Ik In Is Je Jij Maar Man Meer Men Met Mijn Na Naar Nadat Nee Niet Niets Nog Nu "
     "Of Om Omdat Ondanks Onder Ook Op Over Pas Sinds Sommige Soms Te Tegen Ten Terwijl Toch Toen Tot Tussen U Uit Van "
     "Vanaf Veel Volgens Voor Waar Waarom Wanneer Want Was Wat We Welke Wie Wij Ze Zelfs Zij Zijn Zo Zoals Zodra"},
    {"pl",
     "Al Bp Doc Dr Gen Godz Im Inż Kpt Ks M.in Mgr Mjr Np Ok Os P Pl Por Pp Prof Płk Red Tel Tj Tzn Tzw Ul Wg Zob abp "
     "al bp cyt doc dr fr gen gm godz gr hab inż jw kard kpt ks lek m.in mgr mjr nakł niem np oprac os p pl pow pp "
     "ppłk prof przekł pt płk red ros sierż tj tzn tzw tłum ul ur woj ws ww wyd właśc zm zob zw łac Św śp św",
     "Art Fig Nr Rozdz Rys Str Tab art fig nr par pkt poz rozdz ryc rys s ss str t tab tom ust vol z",
     "Co Inc Jr Ltd ang bł ds im jr km m max min mld mln ok por r sek szt tel tys w wg zł",
     "A Aby Albo Ale Bo By Był Była Było Co Czy Dla Dlaczego Dlatego Do Dopiero Gdy Gdzie I Ich Ja Jak Jako Jednak "
     "Jego Jej Jest Jeśli Już Każdy Kiedy Kto Która Które Który Ma Mam Mimo Mnie Możesz Można My Na Nad Nie Nigdy No O "
     "Od On Ona One Oni Ono Oraz Po Pod Podczas Ponieważ Potem Poza Przed Przez Przy Sam Skąd Są Ta Tak Także Tam Te "
     "Tego Ten Teraz To Tu Ty Tylko Tym U W We Według Więc Wszyscy Wszystko Wtedy Z Za Zanim Zawsze Ze Że Żeby"},
    {"ru",
     "Акад Ген Доц И.о Им Напр Пер Пл Прим Проф Св См Ср Т.е Т.к Тел Ул акад англ архим букв вкл г-да г-жа г-н ген "
     "греч д-р дер доц еп и.о ин-т исп итал кн лейт митр наб напр обл ок пгт пос пр просп прот проф р-н рус с.-х сб св "
     "см собств сокр соотв ср ст т.е т.к т.н т.наз т.о т.ч тж укр ул ум ун-т франц чл.-корр",
     "Гл Рис С Ст Стр Т Табл Ч авг апр вып гл д дек илл июл июн к кв корп мар ноя нояб окт п пп разд рис с сен сент "
     "см.рис стр т табл фев февр ч янв №",
     "бул в вв г гг до.н.э долл др и.др и.пр изд им кап кг км коп лат м макс мин млн млрд н.э нем пер пл полк прим ред "
     "род руб сек сост т.д т.п тел трлн тыс фр чел ш экз",
     "А Без Более Больше Будет Бы Был Была Были Было В Вам Вас Весь Во Вот Все Всего Всё Вы Где Да Для До Его Ее Если "
     "Есть Еще Ещё Её За Здесь И Из Или Им Иногда Их К Каждый Как Какой Когда Конечно Который Кто Ли Мне Многие Может "
     "Можно Мой Мы На Над Надо Наш Не Него Нет Ни Но Ну О Об Однако Он Она Они Оно От По Под После Потом Потому При "
     "Про Просто С Сам Себя Сегодня Сейчас Со Так Также Такие Там Тем Теперь То Тогда Того Тоже Только Тот Ты У Уже "
     "Хотя Чем Через Что Чтобы Эта Эти Это Этот Я"},
    {"hi", "डॉ प्रो रु श्री", "", "", ""},
    {"", "Dr Ing Mgr Mr Mrs Ms Prof Sr St dr e.g i.e prof vs", "No Nr no nr", "", ""},
};
// clang-format on

constexpr size_t kLanguageCount = std::size(kLanguages);

constexpr bool is_sorted(std::string_view words) {
    std::string_view last;
    for (size_t begin = 0, end = 0; begin < words.size(); begin = end + 1) {
        end = std::min(words.find(' ', begin), words.size());
        if (words.substr(begin, end - begin) <= last) return false;
        last = words.substr(begin, end - begin);
    }
    return true;
}

static_assert(std::all_of(std::begin(kLanguages), std::end(kLanguages), [](const Language &l) {
    return is_sorted(l.always) && is_sorted(l.before_number) && is_sorted(l.usually) && is_sorted(l.starters);
}));

// Binary search.
bool contains(std::string_view words, std::string_view word) {
    for (size_t low = 0, high = words.size(); low < high;) {
        size_t begin = (low + high) / 2;
        while (begin > low && words[begin - 1] != ' ') --begin;
        const size_t end = std::min(words.find(' ', begin), words.size());
        const int order = words.substr(begin, end - begin).compare(word);
        if (order == 0) return true;
        if (order < 0)
            low = end + 1;
        else
            high = begin;
    }
    return false;
}

bool is_language(const char *language, std::string_view code) {
    const std::string_view given = language;
    return given.substr(0, 2) == code && (given.size() == 2 || given[2] == '-' || given[2] == '_');
}

}  // namespace

SentenceWords::SentenceWords(const char *language) : first_(0), last_(kLanguageCount) {
    if (language == nullptr || *language == '\0') return;
    while (first_ + 1 < kLanguageCount && !is_language(language, kLanguages[first_].code)) ++first_;
    last_ = first_ + 1;
    greek_ = is_language(language, "el");
}

Abbreviation SentenceWords::abbreviation(std::string_view word) const {
    // An abbreviation of one language can be a word of another, such as "ill".
    const bool may_be_word = last_ - first_ > 1 && word[0] >= 'a' && word[0] <= 'z' && word.find('.') == word.npos;
    auto found = Abbreviation::kNone;
    for (size_t i = first_; i < last_; ++i) {
        const Language &l = kLanguages[i];
        if (contains(l.always, word) && !may_be_word) return Abbreviation::kAlways;
        if (contains(l.usually, word) || contains(l.always, word)) found = Abbreviation::kUsually;
        if (contains(l.before_number, word) && found == Abbreviation::kNone) found = Abbreviation::kBeforeNumber;
    }
    return found;
}

bool SentenceWords::starts_sentence(std::string_view word) const {
    return std::any_of(kLanguages + first_, kLanguages + last_,
                       [&](const Language &l) { return contains(l.starters, word); });
}

bool SentenceWords::is_german() const {
    return std::any_of(kLanguages + first_, kLanguages + last_, [](const Language &l) { return l.code == "de"; });
}

}  // namespace xf
