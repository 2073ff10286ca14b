// SPDX-License-Identifier: Apache-2.0
// Special functions against values computed with 40 digits (mpmath).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/compute/ew/special_functions.h"

namespace thalweg::compute {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct One {
  double (*f)(double);
  double x, want;
};
const One kOne[] = {
    {BesselI0, 0.1, 1.0025015629340956},
    {BesselI0, 0.75, 1.1456467780440014},
    {BesselI0, 1.9, 2.127740194053888},
    {BesselI0, 3.3, 6.242630465183028},
    {BesselI0, 7.9, 389.406283282158},
    {BesselI0, 8.5, 683.1619269901156},
    {BesselI0, 30.0, 781672297823.9775},
    {BesselI0, 650.0, 3.0616123926081446e+280},
    {BesselI0, 712.5, 4.068293090664341e+307},
    {BesselI1, -2.5, -2.5167162452886984},
    {BesselI1, 0.1, 0.050062526047092694},
    {BesselI1, 0.75, 0.4019924615809222},
    {BesselI1, 1.9, 1.4482443730548888},
    {BesselI1, 3.3, 5.180958855355928},
    {BesselI1, 7.9, 363.8539440845084},
    {BesselI1, 8.5, 641.6199025400667},
    {BesselI1, 30.0, 768532038938.957},
    {BesselI1, 650.0, 3.0592563989529064e+280},
    {BesselI0e, -7.0, 0.15373774467288126},
    {BesselI0e, 0.5, 0.6450352704491501},
    {BesselI0e, 9.0, 0.134959524581723},
    {BesselI0e, 10000.0, 0.003989472674604732},
    {BesselI1e, -7.0, -0.14228923470959867},
    {BesselI1e, 0.5, 0.1564208031848717},
    {BesselI1e, 9.0, 0.1272249839358912},
    {BesselI1e, 10000.0, 0.003989273195983662},
    {BesselK0, 1e-10, 23.14178244559887},
    {BesselK0, 0.1, 2.4270690247020164},
    {BesselK0, 1.5, 0.21380556264752573},
    {BesselK0, 2.0, 0.11389387274953344},
    {BesselK0, 2.1, 0.10078374088996693},
    {BesselK0, 9.0, 5.0881312956459246e-05},
    {BesselK0, 100.0, 4.656628229175902e-45},
    {BesselK0, 650.0, 2.5125028846628393e-284},
    {BesselK1, 1e-10, 10000000000.0},
    {BesselK1, 0.1, 9.853844780870606},
    {BesselK1, 1.5, 0.2773878004568438},
    {BesselK1, 2.0, 0.13986588181652243},
    {BesselK1, 2.1, 0.12274641153350789},
    {BesselK1, 9.0, 5.363701637945195e-05},
    {BesselK1, 100.0, 4.6798537356369095e-45},
    {BesselK1, 650.0, 2.51443483698632e-284},
    {BesselK0e, 0.1, 2.6823261022628944},
    {BesselK0e, 1.5, 0.9582100532948965},
    {BesselK0e, 9.0, 0.4122955492314181},
    {BesselK0e, 10000.0, 0.012532984717699286},
    {BesselK1e, 0.1, 10.890182683049696},
    {BesselK1e, 1.5, 1.243165873552553},
    {BesselK1e, 9.0, 0.4346252453474347},
    {BesselK1e, 10000.0, 0.012533611351270506},
    {BesselJ0, 0.3, 0.9776262465382961},
    {BesselJ0, 5.0, -0.1775967713143383},
    {BesselJ0, 20.5, 0.11509696025367476},
    {BesselJ1, -0.3, -0.148318816273104},
    {BesselJ1, 5.0, -0.32757913759146523},
    {BesselJ1, 20.5, 0.13625468819339573},
    {BesselY0, 0.3, -0.8072735778045195},
    {BesselY0, 5.0, -0.30851762524903376},
    {BesselY0, 20.5, 0.1334095666575905},
    {BesselY1, 0.3, -2.2931051383885293},
    {BesselY1, 5.0, 0.14786314339122683},
    {BesselY1, 20.5, -0.11187909834450974},
    {Dawsn, 1e-08, 1e-08},
    {Dawsn, 0.5, 0.4244363835020223},
    {Dawsn, 0.99, 0.5387945468144979},
    {Dawsn, 1.5, 0.4282490710853986},
    {Dawsn, -2.9, -0.18555523453549977},
    {Dawsn, 4.0, 0.12934800123600512},
    {Dawsn, 5.5, 0.09249323231075476},
    {Dawsn, 100.0, 0.005000250037509378},
    {Dawsn, 10000000000.0, 5e-11},
    {Expint, 1e-09, -20.146050171044877},
    {Expint, 0.37, -0.009790148500068083},
    {Expint, 0.3725074, -4.2006530740361485e-08},
    {Expint, 0.373, 0.001918438379896271},
    {Expint, 1.0, 1.8951178163559368},
    {Expint, 5.9, 79.5381901448876},
    {Expint, 7.0, 191.5047433355014},
    {Expint, 15.0, 234955.8524907683},
    {Expint, 30.0, 368973209407.2742},
    {Expint, 80.0, 7.0146000049048e+32},
    {Expint, 715.0, 4.643625670370571e+307},
    {FresnelCos, 0.1, 0.09999753262708508},
    {FresnelCos, -1.2, -0.7154377229230734},
    {FresnelCos, 1.49, 0.45458652017763684},
    {FresnelCos, 1.6, 0.36546168344048763},
    {FresnelCos, 2.5, 0.45741300964177706},
    {FresnelCos, 3.7, 0.5419456621544874},
    {FresnelCos, 15.0, 0.5212205316743734},
    {FresnelCos, 1000.25, 0.500031191926018},
    {FresnelSin, 0.1, 0.0005235895476122107},
    {FresnelSin, -1.2, -0.6234009185462497},
    {FresnelSin, 1.49, 0.7011132249982799},
    {FresnelSin, 1.6, 0.6388876835093809},
    {FresnelSin, 2.5, 0.6191817558195929},
    {FresnelSin, 3.7, 0.5749803498874729},
    {FresnelSin, 15.0, 0.49996997980970276},
    {FresnelSin, 1000.25, 0.4996833020274881},
    {Spence, 1e-10, 1.6449340644456414},
    {Spence, 0.1, 1.2997147230049586},
    {Spence, 0.49, 0.5961653613779507},
    {Spence, 0.6, 0.4492829744712817},
    {Spence, 0.999, 0.001000250111173652},
    {Spence, 1.5, -0.4484142069236462},
    {Spence, 2.5, -1.1473806603755707},
    {Spence, 10.0, -3.9506637782441576},
    {Spence, 10000000000.0, -266.73983958836556},
    {Erfinv, 1e-10, 8.862269254527581e-11},
    {Erfinv, 0.1, 0.08885599049425769},
    {Erfinv, -0.5, -0.4769362762044699},
    {Erfinv, 0.7, 0.7328690779592167},
    {Erfinv, 0.71, 0.7482049711849852},
    {Erfinv, 0.9, 1.1630871536766743},
    {Erfinv, -0.999, -2.3267537655135246},
    {Erfinv, 0.9999999999990905, 5.05125408524939},
    {Ndtri, 1e-300, -37.0470962993612},
    {Ndtri, 1e-100, -21.273453560965326},
    {Ndtri, 1e-20, -9.262340089798407},
    {Ndtri, 1e-05, -4.264890793922825},
    {Ndtri, 0.02, -2.053748910631823},
    {Ndtri, 0.13, -1.1263911290388007},
    {Ndtri, 0.15, -1.0364333894937896},
    {Ndtri, 0.3, -0.5244005127080408},
    {Ndtri, 0.8, 0.8416212335729144},
    {Ndtri, 0.97, 1.8807936081512506},
};

struct Two {
  double (*f)(double, double);
  double a, x, want;
};
const Two kTwo[] = {
    {Igamma, 0.1, 0.05, 0.7755386354510305},
    {Igamma, 0.5, 3.0, 0.9856941215645704},
    {Igamma, 1.0, 1.0, 0.6321205588285577},
    {Igamma, 2.5, 0.1, 0.0008861387888124426},
    {Igamma, 2.5, 9.0, 0.9970535954121197},
    {Igamma, 9.5, 12.0, 0.8038476427925046},
    {Igamma, 30.0, 20.0, 0.02181821752555739},
    {Igamma, 30.0, 45.0, 0.9926628007022035},
    {Igamma, 1000.0, 970.0, 0.17162279019198107},
    {Igamma, 1000.0, 1100.0, 0.99894067674607},
    {Igammac, 0.5, 3.0, 0.01430587843542964},
    {Igammac, 1.0, 1.0, 0.36787944117144233},
    {Igammac, 2.5, 0.1, 0.9991138612111875},
    {Igammac, 2.5, 9.0, 0.0029464045878802906},
    {Igammac, 9.5, 12.0, 0.1961523572074954},
    {Igammac, 30.0, 20.0, 0.9781817824744427},
    {Igammac, 30.0, 45.0, 0.007337199297796504},
    {Igammac, 1000.0, 970.0, 0.8283772098080189},
    {Igammac, 1000.0, 1100.0, 0.0010593232539299773},
    {IgammaGradA, 0.1, 0.05, -2.0264226621003973},
    {IgammaGradA, 0.5, 3.0, -0.04724032644797375},
    {IgammaGradA, 1.0, 1.0, -0.4317297106348987},
    {IgammaGradA, 2.5, 0.1, -0.0030252729366812103},
    {IgammaGradA, 2.5, 9.0, -0.004741679548193881},
    {IgammaGradA, 9.5, 12.0, -0.08755037702717139},
    {IgammaGradA, 30.0, 20.0, -0.010205257324989506},
    {IgammaGradA, 30.0, 45.0, -0.0034741570951297633},
    {IgammaGradA, 1000.0, 970.0, -0.008093051868160147},
    {IgammaGradA, 1000.0, 1100.0, -0.00011048987784079389},
    {Igamma, 200000.0, 200300.0, 0.7489631617051791},
    {Igammac, 200000.0, 200300.0, 0.25103683829482093},
    {Igamma, 1000000.0, 998500.0, 0.06675317283160988},
    {Igammac, 1000000.0, 998500.0, 0.9332468271683901},
    {Zeta, 2.0, 1.0, 1.6449340668482264},
    {Zeta, 1.5, 0.3, 8.237761671459724},
    {Zeta, 3.0, 25.5, 0.0007996802981391537},
    {Zeta, 30.0, 0.7, 44366.870862485186},
    {Zeta, 30.0, 12.5, 1.3776953629193722e-33},
    {Zeta, 1.001, 4.0, 998.7446675991948},
    {Zeta, 3.0, -3.5, 0.030778410660513848},
    {Zeta, 2.0, -3.25, 19.474085068082154},
    {PolygammaOf, 1.0, 0.4, 7.275356590529597},
    {PolygammaOf, 1.0, 5.0, 0.22132295573711533},
    {PolygammaOf, 2.0, 1.5, -0.82879664423432},
    {PolygammaOf, 5.0, 30.0, 1.0726994936161623e-06},
    {PolygammaOf, 10.0, 0.1, -3.628800000012727e+17},
};

struct Three {
  double a, b, x, want;
};
const Three kBeta[] = {
    {0.5, 0.5, 0.3, 0.36901011956554536},  {2.0, 3.0, 0.9, 0.9963},
    {0.2, 12.0, 0.01, 0.6953053654189915}, {30.0, 40.0, 0.4, 0.31814380259056296},
    {30.0, 40.0, 0.6, 0.998074111202461},  {1000.0, 3000.0, 0.26, 0.9270239566004947},
    {5.0, 0.1, 0.99, 0.23091107921565365},
};

double RelativeError(double got, double want) { return std::abs(got / want - 1); }

TEST(SpecialTest, OneArgument) {
  for (const One& row : kOne) {
    EXPECT_LT(RelativeError(row.f(row.x), row.want), 2e-15)
        << "row " << &row - kOne << " at " << row.x;
  }
}

TEST(SpecialTest, TwoArguments) {
  for (const Two& row : kTwo) {
    const double got = row.f(row.a, row.x);
    EXPECT_LT(RelativeError(got, row.want), 1e-13)
        << "row " << &row - kTwo << " at " << row.a << ", " << row.x << ": " << got;
  }
}

TEST(SpecialTest, IncompleteBeta) {
  for (const Three& row : kBeta) {
    EXPECT_LT(RelativeError(Betainc(row.a, row.b, row.x), row.want), 2e-14)
        << row.a << ", " << row.b << ", " << row.x;
  }
}

TEST(SpecialTest, Corners) {
  EXPECT_EQ(BesselI0(-kInf), kInf);
  EXPECT_EQ(BesselI1(-kInf), -kInf);
  EXPECT_EQ(BesselI0e(kInf), 0);
  EXPECT_EQ(BesselK0(0), kInf);
  EXPECT_EQ(BesselK1(kInf), 0);
  EXPECT_EQ(BesselK0(-1), kInf);
  EXPECT_EQ(BesselY0(-1), -kInf);
  EXPECT_TRUE(std::isnan(Expint(-1)));
  EXPECT_EQ(Dawsn(kInf), 0);
  EXPECT_EQ(Expint(0), -kInf);
  EXPECT_EQ(Expint(kInf), kInf);
  EXPECT_EQ(FresnelSin(-kInf), -0.5);
  EXPECT_EQ(FresnelCos(kInf), 0.5);
  EXPECT_TRUE(std::isnan(Spence(-1)));
  EXPECT_EQ(Spence(1), 0);
  EXPECT_EQ(Erfinv(-1), -kInf);
  EXPECT_TRUE(std::isnan(Erfinv(1.5)));
  EXPECT_EQ(Ndtri(0), -kInf);
  EXPECT_EQ(Ndtri(0.5), 0);
  EXPECT_EQ(Igamma(2, 0), 0);
  EXPECT_EQ(Igamma(0, 0), 0);
  EXPECT_TRUE(std::isnan(Zeta(1.5, 0)));
  EXPECT_EQ(Igammac(2, kInf), 0);
  EXPECT_TRUE(std::isnan(Igamma(-1, 1)));
  EXPECT_TRUE(std::isnan(Igammac(1, -1)));
  EXPECT_EQ(Igamma(1e300, 1), 0);
  EXPECT_EQ(Betainc(2, 3, 1), 1);
  EXPECT_TRUE(std::isnan(Betainc(2, 0, 0.5)));
  EXPECT_EQ(Zeta(1, 3), kInf);
  EXPECT_EQ(Zeta(2, -3), kInf);
  EXPECT_TRUE(std::isnan(Zeta(0.5, 3)));
  EXPECT_TRUE(std::isnan(Zeta(2.5, -3.5)));
  EXPECT_TRUE(std::isnan(PolygammaOf(1.5, 1)));
}

// Sums that would be long end soon.
TEST(SpecialTest, HugeArgumentsEnd) {
  EXPECT_TRUE(std::isfinite(Zeta(2, -1e15 - 0.5)));
  EXPECT_GT(Zeta(1e9, 1e8), -1);
  EXPECT_GE(Betainc(1e15, 1e15, 0.5000001), 0);
  EXPECT_GE(Igamma(1e15, 1e15), 0);
  EXPECT_TRUE(std::isfinite(IgammaGradA(1e15, 1e15)));
}

}  // namespace
}  // namespace thalweg::compute
